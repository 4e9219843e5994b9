#include "crg/independence.hpp"

#include <algorithm>
#include <numeric>

namespace coreplan {

Independence::Independence(const TreeMaker& maker, Monitor& monitor)
    : first_stage_(maker.graphs().first_stage) {
    const LocalGraphs& graphs = maker.graphs();
    const std::size_t n = graphs.agents.size();
    const Index layers = graphs.stage_count();
    for (const Entry& entry : graphs.rewards.interaction_entries) {
        if (entry.value == 0) continue;
        Event event{{}, &entry};
        for (const Member& member : entry.members) {
            event.members.emplace_back(static_cast<Index>(at(member.agent)),
                                       maker.types(at(member.agent)).number_of(member.condition));
        }
        events_.push_back(std::move(event));
    }

    // Per agent and layer, the conditions that somebody somewhere can match then.
    std::vector<std::vector<std::vector<bool>>> seen(n);
    for (std::size_t i = 0; i < n; ++i) {
        const MoveTypes& types = maker.types(i);
        seen[i].assign(layers, std::vector<bool>(types.condition_count(), false));
        for (Index layer = 0; layer < layers; ++layer) {
            for (const Move& move : maker.layer_moves(i, layer)) {
                for (Index c = 0; c < types.condition_count(); ++c) {
                    if (types.matches(c, move.pair_type, move.action)) seen[i][layer][c] = true;
                }
            }
        }
        const LocalGraph& graph = graphs.agents[i];
        runs_.push_back(collect_runs(
            first_stage_, layers, graph.layer_begin,
            [&](Index node, auto signal, auto next) {
                const Index first = graph.arc_begin[graph.choice_begin[node]];
                const Index last = graph.arc_begin[graph.choice_begin[node + 1]];
                for (Index arc = first; arc < last; ++arc) {
                    const TransitionId transition = graph.arc_base[arc];
                    for (Index c = 0; c < types.condition_count(); ++c) {
                        if (types.matches(c, types.pair_type(transition),
                                          types.action_of(transition))) {
                            signal(c);
                        }
                    }
                    next(static_cast<Index>(at(graph.arc_next[arc])));
                }
            },
            monitor));
    }

    local_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<std::optional<bool>> by_list(runs_[i].list_count());
        for (Index node = 0; node < graphs.agents[i].node_count(); ++node) {
            auto& known = by_list[runs_[i].list_of[node]];
            if (!known) {
                known = std::ranges::none_of(events_, [&](const Event& event) {
                    return can_match_alone(event, i, node, seen);
                });
            }
            local_[i].push_back(*known);
            monitor.tick_or_throw(4);
        }
    }
}

template <class Use>
void Independence::each_stage(std::size_t agent, Index node, Index condition, Use use) const {
    const StageRuns& runs = runs_[agent];
    const Index list = runs.list_of[node];
    for (Index k = runs.list_begin[list]; k < runs.list_begin[list + 1]; ++k) {
        const StageRun& run = runs.runs[k];
        if (run.signal != condition) continue;
        for (Index stage = run.first; stage <= run.last; ++stage) {
            if (use(stage)) return;
        }
    }
}

namespace {

bool counts_at(const Entry& entry, Index stage) {
    return !entry.stages || std::ranges::find(*entry.stages, stage) != entry.stages->end();
}

}  // namespace

bool Independence::can_match_alone(
    const Event& event, std::size_t agent, Index node,
    const std::vector<std::vector<std::vector<bool>>>& seen) const {
    const auto own = std::ranges::find(event.members, agent, &std::pair<Index, Index>::first);
    if (own == event.members.end()) return false;
    bool possible = false;
    each_stage(agent, node, own->second, [&](Index stage) {
        possible = counts_at(*event.entry, stage) &&
                   std::ranges::all_of(event.members, [&](const auto& member) {
                       return seen[member.first][stage - first_stage_][member.second];
                   });
        return possible;
    });
    return possible;
}

bool Independence::alive(const Event& event, std::span<const Index> agents,
                         std::span<const Index> nodes) const {
    // All members must be among the agents; else some other one is out of play already.
    std::vector<Index> at_nodes;
    for (const auto& [agent, condition] : event.members) {
        const auto where = std::ranges::find(agents, agent);
        if (where == agents.end()) return false;
        at_nodes.push_back(nodes[static_cast<std::size_t>(where - agents.begin())]);
    }
    bool found = false;
    each_stage(event.members[0].first, at_nodes[0], event.members[0].second, [&](Index stage) {
        if (!counts_at(*event.entry, stage)) return false;
        for (std::size_t m = 1; m < event.members.size(); ++m) {
            bool matches = false;
            each_stage(event.members[m].first, at_nodes[m], event.members[m].second,
                       [&](Index other) {
                           matches = other == stage;
                           return matches || other > stage;
                       });
            if (!matches) return false;
        }
        found = true;
        return true;
    });
    return found;
}

const Independence::Groups& Independence::groups(std::span<const Index> agents,
                                                 std::span<const Index> nodes) {
    std::vector<SequencePool::Word> key;
    for (std::size_t k = 0; k < agents.size(); ++k) {
        key.push_back((SequencePool::Word{agents[k]} << 32U) | runs_[agents[k]].list_of[nodes[k]]);
    }
    const auto [id, is_new] = keys_.intern(key);
    if (!is_new) return answers_[id];

    std::vector<Index> leader(agents.size());
    std::iota(leader.begin(), leader.end(), Index{0});
    const auto find = [&](Index k) {
        while (leader[k] != k) k = leader[k];
        return k;
    };
    for (const Event& event : events_) {
        if (!alive(event, agents, nodes)) continue;
        Index first = 0;
        for (std::size_t m = 0; m < event.members.size(); ++m) {
            const auto where = std::ranges::find(agents, event.members[m].first);
            const Index position = find(static_cast<Index>(where - agents.begin()));
            if (m == 0) {
                first = position;
            } else {
                const Index low = std::min(first, position);
                leader[std::max(first, position)] = low;
                first = low;
            }
        }
    }
    Groups made;
    std::vector<Index> group_of(agents.size(), 0);
    for (Index k = 0; k < agents.size(); ++k) {
        const Index root = find(k);
        if (root == k) {
            group_of[k] = static_cast<Index>(made.positions.size());
            made.positions.emplace_back();
        }
        made.positions[group_of[root]].push_back(k);
    }
    answers_.push_back(std::move(made));
    return answers_[id];
}

}  // namespace coreplan
