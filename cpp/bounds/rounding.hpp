// How much rounding can change what backward induction computes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace coreplan {

// By how much an optimum over `layers` stages can exceed the value W that was computed for it.
//
// Follow an optimal policy. At each stage the computed number differs from the exact sum of the
// same terms by at most operations · u · (absolute terms of the stage + |W| of the next stage), so
// the optimum exceeds W by no more than the expected sum of these differences. `gained` bounds what
// terms above zero can add up to. What the policy loses is what it gains less the optimum, so all
// its terms together have an expected size of at most 2 · gained + |optimum|, and so has |W| of
// every stage. What matters is therefore the size of the numbers that good policies meet: a cost
// that nobody pays plays no part, however large it is. Epsilon is 2u, which leaves a reserve for
// terms of higher order.
inline double rounding_error(double operations, double layers, double gained, double value) {
    return operations * std::numeric_limits<double>::epsilon() * (layers + 2) *
           (2 * gained + std::abs(value));
}

// A sum of a few numbers that also keeps what rounding takes away from it.
class CarefulSum {
public:
    void add(double term) noexcept {
        const double sum = sum_ + term;
        const double other = sum - sum_;
        const double lost = (sum_ - (sum - other)) + (term - other);  // exactly
        sum_ = sum;
        rest_ += lost;
        size_ += std::abs(lost);
        ++terms_;
    }
    [[nodiscard]] double value() const noexcept { return sum_ + rest_; }
    // Whether it is certainly not above zero, although what is kept is rounded, too.
    [[nodiscard]] bool at_most_zero() const noexcept { return value() <= -error(); }
    // What it can be at most.
    [[nodiscard]] double most() const noexcept { return value() + error(); }

private:
    [[nodiscard]] double error() const noexcept {
        return std::numeric_limits<double>::epsilon() * terms_ * size_;
    }

    double sum_ = 0;
    double rest_ = 0;
    double size_ = 0;  // of all that was lost
    double terms_ = 0;
};

// Adds to `last`, the last of some shares, as little as it takes for all shares to add up to
// `total` at least, in spite of rounding. `share(k)` gives each of the others.
template <typename Share>
void round_up_last(double total, std::size_t others, Share share, double& last) {
    // The last share may be smaller by far than what rounding takes from the sum: steps have the
    // size of that, and double.
    for (double step = 0;;) {
        CarefulSum rest;
        rest.add(total);
        for (std::size_t k = 0; k < others; ++k) rest.add(-share(k));
        rest.add(-last);
        if (rest.at_most_zero()) return;
        step = std::max(2 * step, rest.most());
        last = std::nextafter(last + step, std::numeric_limits<double>::infinity());
    }
}

}  // namespace coreplan
