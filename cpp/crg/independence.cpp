#include "crg/independence.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace coreplan {

namespace {

// What two lists of ranges have in common; both in order, without overlaps.
std::vector<std::pair<Index, Index>> common(const std::vector<std::pair<Index, Index>>& one,
                                            const std::vector<std::pair<Index, Index>>& other) {
    std::vector<std::pair<Index, Index>> result;
    for (std::size_t a = 0, b = 0; a < one.size() && b < other.size();) {
        const Index first = std::max(one[a].first, other[b].first);
        const Index last = std::min(one[a].second, other[b].second);
        if (first <= last) result.emplace_back(first, last);
        if (one[a].second < other[b].second) {
            ++a;
        } else {
            ++b;
        }
    }
    return result;
}

// The stages at which an entry can be earned, as ranges.
std::vector<std::pair<Index, Index>> ranges_of(const Entry& entry) {
    if (!entry.stages) return {{0, std::numeric_limits<Index>::max()}};
    std::vector<Index> sorted = *entry.stages;
    std::ranges::sort(sorted);
    std::vector<std::pair<Index, Index>> ranges;
    for (const Index stage : sorted) {
        if (!ranges.empty() && stage <= ranges.back().second + 1) {
            ranges.back().second = stage;
        } else {
            ranges.emplace_back(stage, stage);
        }
    }
    return ranges;
}

}  // namespace

Independence::Independence(const TreeMaker& maker, Monitor& monitor)
    : first_stage_(maker.graphs().first_stage) {
    const LocalGraphs& graphs = maker.graphs();
    const std::size_t n = graphs.agents.size();
    const Index layers = graphs.stage_count();
    for (const Entry& entry : graphs.rewards.interaction_entries) {
        if (entry.value == 0) continue;
        Event event{{}, &entry, ranges_of(entry)};
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

Independence::Stages Independence::stages_of(std::size_t agent, Index node, Index condition) const {
    const StageRuns& runs = runs_[agent];
    const Index list = runs.list_of[node];
    Stages stages;
    for (Index k = runs.list_begin[list]; k < runs.list_begin[list + 1]; ++k) {
        const StageRun& run = runs.runs[k];
        if (run.signal == condition) stages.emplace_back(run.first, run.last);
    }
    return stages;
}

bool Independence::can_match_alone(const Event& event, std::size_t agent, Index node,
                                   const std::vector<std::vector<std::vector<bool>>>& seen) const {
    const auto own = std::ranges::find(event.members, agent, &std::pair<Index, Index>::first);
    if (own == event.members.end()) return false;
    for (const auto& [first, last] : common(event.stages, stages_of(agent, node, own->second))) {
        for (Index stage = first; stage <= last; ++stage) {
            const bool possible = std::ranges::all_of(event.members, [&](const auto& member) {
                return seen[member.first][stage - first_stage_][member.second];
            });
            if (possible) return true;
        }
    }
    return false;
}

bool Independence::alive(const Event& event, std::span<const Index> agents,
                         std::span<const Index> nodes) const {
    Stages left = event.stages;
    for (const auto& [agent, condition] : event.members) {
        // All members must be among the agents; else some other one is out of play already.
        const auto where = std::ranges::find(agents, agent);
        if (where == agents.end()) return false;
        const Index node = nodes[static_cast<std::size_t>(where - agents.begin())];
        left = common(left, stages_of(agent, node, condition));
        if (left.empty()) return false;
    }
    return true;
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
