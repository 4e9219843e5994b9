#include "crg/reward_paths.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

namespace coreplan {

namespace {

// Rewards of more leaves than this are worked out anew each time.
constexpr double kMostLeaves = 4096;

constexpr std::uint64_t bit_of(Index condition) {
    return std::uint64_t{1} << std::min(condition, Index{63});
}

}  // namespace

RewardPaths::RewardPaths(const ConditionalReturnGraphs& crgs, RewardSource source, Monitor& monitor)
    : source_(source), memory_(monitor), agents_(crgs.agent_count()) {
    if (crgs.maker().options().literal) {
        throw std::invalid_argument("graphs by the printed definitions can lose rewards");
    }
    for (std::size_t i = 0; i < agents_.size(); ++i) {
        agents_[i].graph = &crgs.graphs().agents[i];
        number_kinds(i, crgs);
    }
    for (std::size_t i = 0; i < agents_.size(); ++i) {
        const auto& graph = *agents_[i].graph;
        memory_.take(static_cast<double>(graph.arc_next.size()) * 2 * sizeof(Index) +
                         static_cast<double>(graph.node_count()) * 16,
                     "the paths of one agent's graph");
        add_trees(i, crgs, monitor);
        list_others(i);
        list_matchable(i);
    }
}

// Two arcs are of the same kind if they have the same action and pair type.
void RewardPaths::number_kinds(std::size_t agent, const ConditionalReturnGraphs& crgs) {
    Agent& own = agents_[agent];
    const MoveTypes& types = crgs.maker().types(agent);
    own.conditions = types.condition_count();
    std::map<std::pair<Index, Index>, Index> known;
    for (const TransitionId transition : own.graph->arc_base) {
        const Index action = types.action_of(transition);
        const Index pair_type = types.pair_type(transition);
        const auto [place, is_new] =
            known.try_emplace({action, pair_type}, static_cast<Index>(known.size()));
        own.kind.push_back(place->second);
        if (!is_new) continue;
        for (Index c = 0; c < own.conditions; ++c) {
            own.kind_matches.push_back(types.matches(c, pair_type, action) ? 1 : 0);
        }
    }
}

void RewardPaths::add_trees(std::size_t agent, const ConditionalReturnGraphs& crgs,
                            Monitor& monitor) {
    Agent& own = agents_[agent];
    const ConditionalReturnGraph& crg = crgs.of(agent);
    const LocalGraph& graph = *own.graph;
    std::vector<std::optional<Index>> number(crg.trees.size());
    for (Index layer = 0; layer < crgs.graphs().stage_count(); ++layer) {
        const Index first = graph.arc_begin[graph.choice_begin[graph.layer_begin[layer]]];
        const Index last = graph.arc_begin[graph.choice_begin[graph.layer_begin[layer + 1]]];
        for (Index arc = first; arc < last; ++arc) {
            auto& known = number[crg.arc_tree[arc]];
            if (!known) {
                const RewardTree& tree = crg.trees[crg.arc_tree[arc]];
                known = tree.entries.empty() ? kNone : add_tree(agent, layer, tree, crgs, monitor);
            }
            own.tree.push_back(*known);
        }
        monitor.tick_or_throw(8 * (1 + last - first));
    }
}

Index RewardPaths::add_tree(std::size_t, Index layer, const RewardTree& tree,
                            const ConditionalReturnGraphs& crgs, Monitor& monitor) {
    Tree made{};
    made.first_step = static_cast<Index>(steps_.size());
    std::map<AgentId, Index> step_of;
    std::map<AgentId, Move> only;  // the move that stands for all of an agent that has no step
    for (const TreeAgent& other : tree.agents) {
        if (other.trivial) {
            const Branch& branch = other.branches.at(0);
            only.emplace(other.agent, branch.other.value());
            continue;
        }
        step_of.emplace(other.agent, static_cast<Index>(steps_.size()) - made.first_step);
        add_step(other, layer, crgs.maker());
    }
    made.last_step = static_cast<Index>(steps_.size());
    made.first_entry = static_cast<Index>(entries_.size());
    for (const ActiveEntry& active : tree.entries) {
        Entry entry{active.value, static_cast<Index>(others_.size()), 0};
        for (const auto& other : active.others) {
            const auto step = step_of.find(other.agent);
            Other each{static_cast<Index>(at(other.agent)), other.condition, kNone, false};
            if (step != step_of.end()) {
                each.step = step->second;
            } else {
                const Move& move = only.at(other.agent);
                each.matches = crgs.maker()
                                   .types(at(other.agent))
                                   .matches(other.condition, move.pair_type, move.action);
            }
            others_.push_back(each);
        }
        entry.last_other = static_cast<Index>(others_.size());
        made.scale += std::abs(active.value);
        entries_.push_back(entry);
    }
    made.last_entry = static_cast<Index>(entries_.size());
    store_leaves(made, monitor);
    trees_.push_back(made);
    return static_cast<Index>(trees_.size()) - 1;
}

// The arcs of one agent: the labelled ones of every branch, and ◇ where there is one.
void RewardPaths::add_step(const TreeAgent& other, Index layer, const TreeMaker& maker) {
    const std::size_t agent = at(other.agent);
    const Agent& who = agents_[agent];
    const auto kinds =
        who.conditions == 0 ? 0 : static_cast<Index>(who.kind_matches.size() / who.conditions);
    Step step{static_cast<Index>(agent), 1, labels_.size(), examples_.size()};
    labels_.resize(labels_.size() + kinds, kNone);
    examples_.push_back(kNone);  // an absent agent matches nothing
    std::map<std::pair<Index, std::optional<Index>>, Index> known;
    const LocalGraph& graph = *who.graph;
    const Index first = graph.arc_begin[graph.choice_begin[graph.layer_begin[layer]]];
    const auto& moves = maker.layer_moves(agent, layer);
    for (std::size_t k = 0; k < moves.size(); ++k) {
        const Index kind = who.kind[first + k];  // moves are in the order of the arcs
        if (labels_[step.table + kind] != kNone) continue;
        const auto path = maker.path_of(other, moves[k]);
        const auto [place, is_new] = known.try_emplace({path.branch, path.group}, step.labels);
        if (is_new) {
            ++step.labels;
            examples_.push_back(kind);
        }
        labels_[step.table + kind] = place->second;
    }
    steps_.push_back(step);
}

void RewardPaths::store_leaves(Tree& tree, Monitor& monitor) {
    double count = 1;
    for (Index s = tree.first_step; s < tree.last_step; ++s) count *= steps_[s].labels;
    if (count > kMostLeaves) return;
    memory_.take(count * sizeof(double), "the rewards of a graph's paths");
    tree.leaves = leaves_.size();
    std::vector<Index> labels(tree.last_step - tree.first_step, 0);
    for (bool more = true; more;) {
        leaves_.push_back(leaf_reward(tree, labels));
        more = false;
        for (std::size_t s = labels.size(); s-- > 0 && !more;) {
            more = ++labels[s] < steps_[tree.first_step + s].labels;
            if (!more) labels[s] = 0;
        }
    }
    monitor.tick_or_throw(static_cast<std::uint64_t>(count) *
                          (8 + 4 * (tree.last_entry - tree.first_entry)));
}

// That of the moves that stand for the arcs.
double RewardPaths::leaf_reward(const Tree& tree, std::span<const Index> labels) const {
    double total = 0;
    for (Index e = tree.first_entry; e < tree.last_entry; ++e) {
        const bool all = std::ranges::all_of(others_of(entries_[e]), [&](const Other& other) {
            if (other.step == kNone) return other.matches;
            const Step& step = steps_[tree.first_step + other.step];
            const Index kind = examples_[step.examples + labels[other.step]];
            const Agent& agent = agents_[other.agent];
            return kind != kNone &&
                   agent.kind_matches[kind * agent.conditions + other.condition] != 0;
        });
        if (all) total += entries_[e].value;
    }
    return total;
}

void RewardPaths::list_others(std::size_t agent) {
    Agent& own = agents_[agent];
    const LocalGraph& graph = *own.graph;
    own.others_begin.push_back(0);
    std::map<Index, std::uint64_t> found;
    for (Index node = 0; node < graph.node_count(); ++node) {
        found.clear();
        const Index last = graph.arc_begin[graph.choice_begin[node + 1]];
        Index before = kNone;
        for (Index arc = graph.arc_begin[graph.choice_begin[node]]; arc < last; ++arc) {
            if (own.tree[arc] == kNone || own.tree[arc] == before) continue;
            before = own.tree[arc];
            const Tree& tree = trees_[before];
            for (Index e = tree.first_entry; e < tree.last_entry; ++e) {
                for (const Other& other : others_of(entries_[e])) {
                    found[other.agent] |= bit_of(other.condition);
                }
            }
        }
        for (const auto& [other, conditions] : found) own.others.push_back({other, conditions});
        own.others_begin.push_back(static_cast<Index>(own.others.size()));
    }
}

void RewardPaths::list_matchable(std::size_t agent) {
    Agent& own = agents_[agent];
    const LocalGraph& graph = *own.graph;
    std::vector<std::uint64_t> of_kind;
    for (std::size_t k = 0; k < own.kind_matches.size(); ++k) {
        if (k % own.conditions == 0) of_kind.push_back(0);
        if (own.kind_matches[k] != 0) {
            of_kind.back() |= bit_of(static_cast<Index>(k % own.conditions));
        }
    }
    own.matchable.assign(graph.node_count(), 0);
    if (of_kind.empty()) return;
    for (Index node = 0; node < graph.node_count(); ++node) {
        const Index last = graph.arc_begin[graph.choice_begin[node + 1]];
        for (Index arc = graph.arc_begin[graph.choice_begin[node]]; arc < last; ++arc) {
            own.matchable[node] |= of_kind[own.kind[arc]];
        }
    }
}

void RewardPaths::check(double walked, double sum, double scale_of_tree) {
    if (std::abs(walked - sum) > 1e-9 * std::max(1.0, scale_of_tree)) {
        throw std::logic_error("a path of a conditional return graph carries a wrong reward");
    }
}

}  // namespace coreplan
