// Which agents can still interact, given where each of them stands. An interaction is alive if
// there is a stage at which all its members can still take part; agents that share one that is
// alive belong to the same group. So do two agents that can still add to an aggregate at the same
// stage: all who add at a stage are in one group, which earns what their sum is worth. What an
// agent can take part in only ever shrinks, so groups only split.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "model/compiled_model.hpp"
#include "model/remaining_signals.hpp"
#include "support/reservation.hpp"

namespace coreplan {

class Couplings {
public:
    // The monitor has to outlive it: what is reserved is given back.
    Couplings(const CompiledModel& model, Monitor& monitor);

    // What an agent can still take part in, as the number of a list: from a class on, and after an
    // action whose outcome is not known yet.
    [[nodiscard]] Index list(AgentId agent, ClassId c) const {
        return agents_[at(agent)].of_class[at(c)];
    }
    [[nodiscard]] Index list(AgentId agent, AfterId k) const {
        return agents_[at(agent)].of_after[at(k)];
    }
    [[nodiscard]] const std::vector<Index>& lists_of_classes(AgentId agent) const {
        return agents_[at(agent)].of_class;
    }
    // The runs of a list, by signal, then stage.
    [[nodiscard]] std::span<const SignalRun> runs(AgentId agent, Index list) const {
        const Lists& mine = agents_[at(agent)];
        return std::span(mine.runs).subspan(mine.begin[list],
                                            mine.begin[list + 1] - mine.begin[list]);
    }
    [[nodiscard]] std::size_t list_count(AgentId agent) const {
        return agents_[at(agent)].begin.size() - 1;
    }

    // All interactions among exactly these agents; if they are two, aggregates of both as well.
    struct Bond {
        std::vector<AgentId> agents;  // ascending
        std::vector<Index> interactions;
        std::vector<Index> aggregates;
    };
    [[nodiscard]] const std::vector<Bond>& bonds() const noexcept { return bonds_; }
    // Whether one of them is alive; `lists` has one per agent of the bond.
    [[nodiscard]] bool alive(std::size_t bond, std::span<const Index> lists) const;

private:
    struct Lists {
        std::vector<Index> of_class;
        std::vector<Index> of_after;
        std::vector<Index> begin;
        std::vector<SignalRun> runs;
    };
    // Answers for pairs of lists, found when first asked for: unknown, no or yes.
    struct Memo {
        std::size_t columns = 0;
        std::unique_ptr<std::atomic<char>[]> known;
    };

    void unite_outcomes(const CompiledAgent& agent, Lists& lists) const;
    [[nodiscard]] bool find_alive(const Bond& bond, std::span<const Index> lists) const;
    [[nodiscard]] bool both_add(const Bond& bond, const CompiledAggregate& aggregate,
                                std::span<const Index> lists) const;

    const CompiledModel& model_;
    Lease lease_;         // of lists
    Reservation memory_;  // of memos
    std::vector<Lists> agents_;
    std::vector<Bond> bonds_;
    std::vector<Memo> memos_;
};

}  // namespace coreplan
