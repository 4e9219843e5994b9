// Records the published search, for people to look at.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "search/core_2016.hpp"
#include "search/core_locals.hpp"
#include "search/core_teams.hpp"

namespace coreplan {

struct TraceFull {};  // thrown where there is more to record than allowed

// Where a look at a group comes from.
struct CoreVisit {
    std::int64_t parent;
    Index action;
    double probability;
    Index groups;
};

class CoreTrace {
public:
    // Records into `result`; nothing if `most` is 0.
    CoreTrace(const ConditionalReturnGraphs& crgs, const RewardPaths& paths,
              const CoreLocals& locals, std::uint64_t most, CoreResult& result)
        : crgs_(crgs),
          paths_(paths),
          locals_(locals),
          most_(most),
          on_(most > 0),
          result_(result) {}

    [[nodiscard]] bool on() const noexcept { return on_; }
    void stop() noexcept { on_ = false; }

    // A look at a group of agents; gives the number of the record.
    std::int64_t note(const CoreTeams::Shape& team, std::span<const Index> nodes, Index layer,
                      const CoreVisit& visit, bool independent, bool remembered, double value);
    // A joint action of that group, whose turn it is; `choices` among those of the agents' nodes.
    void add_action(std::int64_t record, const CoreTeams::Shape& team, std::vector<Index> choices,
                    bool pruned, double best_known);
    // What the last action of a record, or the whole record, is worth.
    void set_action_value(std::int64_t record, double value);
    // The last action of a record was not evaluated to the end, because `upper` is its U by then.
    void give_up(std::int64_t record, double upper);
    void set_value(std::int64_t record, double value);

private:
    [[nodiscard]] TraceState& at_record(std::int64_t record) {
        return result_.trace[static_cast<std::size_t>(record)];
    }
    void add_graph_bounds(const CoreTeams::Shape& team, std::size_t k, const TraceState& state,
                          TraceAction& action) const;

    const ConditionalReturnGraphs& crgs_;
    const RewardPaths& paths_;
    const CoreLocals& locals_;
    std::uint64_t most_;
    bool on_;
    CoreResult& result_;
    double joint_actions_ = 0;
};

}  // namespace coreplan
