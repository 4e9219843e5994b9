// What a joint action is compared with: lines 6 and 10 of the paper's algorithm.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace coreplan {

struct CoreBest {
    static constexpr double kNone = -std::numeric_limits<double>::infinity();
    static constexpr double kTolerance = 1e-9;

    double certain = kNone;  // L_max of the paper
    double value = kNone;    // of the best joint action evaluated so far
    double slack = 0;        // how much may be given away here

    // The least U that is worth a look: a bound that is below L_max by rounding must not prune.
    [[nodiscard]] static double least(double certain) noexcept {
        return certain - kTolerance * std::max(1.0, std::abs(certain));
    }
    [[nodiscard]] bool excludes(double upper) const noexcept {
        return upper < least(certain) || exceeds_little(upper);
    }
    // Whether to stop with a joint action that is being evaluated. It is compared with what another
    // one is worth, not with L_max: rounding must not leave a state without any, and what was given
    // away at later stages lowers its U.
    [[nodiscard]] bool gives_up(double upper) const noexcept {
        return upper < least(value) || exceeds_little(upper);
    }
    // A joint action was evaluated; true if it is the best so far.
    bool add(double evaluated) noexcept {
        certain = std::max(certain, evaluated);
        const bool is_best = evaluated > value || value == kNone;
        if (is_best) value = evaluated;
        return is_best;
    }

private:
    [[nodiscard]] bool exceeds_little(double upper) const noexcept {
        return slack > 0 && value > kNone && upper <= value + slack;
    }
};

}  // namespace coreplan
