// What a team would earn from any joint state on if everybody saw everything: the optimal
// centralised value, found by the tensor kernel. No decentralised policy does better, so it is the
// heuristic of the search for one (Q_MDP).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/compiled_model.hpp"
#include "support/reservation.hpp"

namespace coreplan {

class CentralValues {
public:
    // The memory that it takes at most, in bytes; infinite if joint states cannot be numbered.
    static double bytes_of(const CompiledModel& model);

    // Throws LimitReached if a limit strikes.
    CentralValues(const CompiledModel& model, Monitor& monitor);
    CentralValues(const CentralValues&) = delete;
    CentralValues& operator=(const CentralValues&) = delete;

    // The optimal centralised value; constants are not counted.
    [[nodiscard]] double value() const noexcept { return value_; }
    // Per joint after-state of a layer, the last agent's being the innermost: the expected
    // interactions there, and the expected value of what follows.
    [[nodiscard]] const std::vector<double>& after(Index layer) const { return after_[layer]; }
    // Of the kernel's tables.
    [[nodiscard]] std::uint64_t cells() const noexcept { return cells_; }

private:
    void look_ahead(Index layer, const double* next);
    void add_interactions(Index layer);
    void add_sums(Index layer);
    void spread(Index layer, std::size_t agent, std::size_t offset, double weight);

    const CompiledModel& model_;
    Monitor& monitor_;
    Reservation memory_;
    std::vector<std::vector<double>> after_;
    std::vector<double> other_;
    // Per agent, for one interaction: (after-state within the layer, chance); all of them if it is
    // not a member.
    std::vector<std::vector<std::pair<Index, double>>> matching_;
    double value_ = 0;
    std::uint64_t cells_ = 0;
};

}  // namespace coreplan
