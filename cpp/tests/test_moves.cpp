#include "crg/moves.hpp"

#include <set>

#include "check.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;
using Pair = std::pair<Index, Index>;

// Transitions: 0: 0-a0->0, 1: 0-a0->1, 2: 0-a1->1, 3: 1-a0->0.
AgentDescription walker() {
    return agent(2, 2, {{0, 0, {{0, 0.5}, {1, 0.5}}}, {0, 1, {{1}}}, {1, 0, {{0}}}});
}

MoveTypes types_of(const Description& d, std::size_t agent) {
    return {d, as<AgentId>(agent), sort_rewards(d).interaction_entries};
}

// The conditions of an agent that interactions use, as the description numbers them.
std::vector<Index> used_conditions(const Description& d, const MoveTypes& types,
                                   std::size_t agent) {
    std::vector<Index> used;
    for (Index c = 0; c < d.agents[agent].conditions.size(); ++c) {
        if (types.number_of(c) != MoveTypes::kNotUsed) used.push_back(c);
    }
    return used;
}

TEST("conditions are numbered as interaction entries first use them, others not at all") {
    Description d = team(2, {walker(), walker()});
    const Member own = when(d, 0, on_actions({1}));
    const Member late = when(d, 0, on_states({1}));
    const Member early = when(d, 0, on_nexts({1}));
    const Member always = when(d, 0, on_anything());
    const Member other = when(d, 1, on_states({0}));
    d.entries.push_back(entry(1.0, {own}));
    d.entries.push_back(entry(1.0, {early, other}));
    d.entries.push_back(entry(1.0, {late, other}));
    d.entries.push_back(entry(1.0, {early, other}, std::vector<Index>{1}));
    d.entries.push_back(entry(1.0, {always, other}));  // an own reward of agent 1, really
    const MoveTypes types = types_of(d, 0);
    CHECK(types.condition_count() == 2);
    CHECK(types.number_of(early.condition) == 0);
    CHECK(types.number_of(late.condition) == 1);
    CHECK(types.number_of(own.condition) == MoveTypes::kNotUsed);
    CHECK(types.number_of(always.condition) == MoveTypes::kNotUsed);
    CHECK(types_of(d, 1).condition_count() == 1);
}

TEST("a pair type and an action say what a condition sees, even of an impossible triple") {
    Description d = team(2, {walker(), walker()});
    // State 1 has no action 1, so this condition never matches there; (1, a1, 0) would not either.
    const Member zero = when(d, 0, on({0}, {1}, {1}));
    const Member one = when(d, 0, on_actions({1}));
    const Member other = when(d, 1, on_states({0}));
    d.entries.push_back(entry(1.0, {zero, other}));
    d.entries.push_back(entry(1.0, {one, other}));
    const MoveTypes types = types_of(d, 0);
    const Index stays = types.pair_type(TransitionId{0}), goes = types.pair_type(TransitionId{1});
    const Index returns = types.pair_type(TransitionId{3});
    CHECK(goes == types.pair_type(TransitionId{2}));
    CHECK(stays == returns);  // neither is what the first condition looks for
    CHECK(types.action_of(TransitionId{1}) == 0);
    CHECK(types.action_of(TransitionId{2}) == 1);
    CHECK(types.pair_matches(0, goes));
    CHECK(!types.matches(0, goes, 0));
    CHECK(types.matches(0, goes, 1));
    CHECK(!types.matches(0, stays, 1));   // impossible: action 1 leads to state 1 only
    CHECK(types.matches(1, returns, 1));  // impossible: state 1 has no action 1
    CHECK(!types.matches(1, returns, 0));
}

TEST("pairs that no transition connects have types as well, numbered after the others") {
    // 0 -> 1 -> 1: the pairs (0, 0) and (1, 0) are impossible.
    Description d = team(2, {agent(2, 1, {{0, 0, {{1}}}, {1, 0, {{1}}}}), one_state(2)});
    const Member other = when(d, 1, on_actions({1}));
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({0})), other}));
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({1})), other}));
    d.entries.push_back(entry(1.0, {when(d, 0, on({0, 1}, {0}, {0})), other}));  // never: dropped
    CHECK(types_of(d, 0).condition_count() == 2);
    CHECK(types_of(d, 0).pair_type_count() == 2);

    // The same with a way to state 0 that is possible in the description.
    d.agents[0] = agent(2, 2, {{0, 0, {{1}}}, {1, 0, {{1}}}, {1, 1, {{0}}}});
    d.agents[0].conditions = {on_states({0}), on_states({1}), on_nexts({0})};
    const MoveTypes types = types_of(d, 0);
    CHECK(types.condition_count() == 3);
    CHECK(types.pair_type_count() == 4);  // {0}, {1}, {1, 2} and, for (0, 0) only, {0, 2}
    for (Index t = 0; t < 3; ++t) CHECK(types.pair_type(TransitionId{t}) < 3);
    CHECK(types.pair_matches(0, 3));
    CHECK(!types.pair_matches(1, 3));
    CHECK(types.pair_matches(2, 3));
}

TEST("move types agree with the conditions on all triples of random problems") {
    int impossible = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        for (std::size_t i = 0; i < d.agents.size(); ++i) {
            const AgentDescription& who = d.agents[i];
            const MoveTypes types = types_of(d, i);
            const std::vector<Index> used = used_conditions(d, types, i);
            CHECK(types.condition_count() == used.size());
            CHECK(types.action_count() == who.action_count);
            for (Index t = 0; t < who.transition_count(); ++t) {
                const auto [state, choice] = reference::origin(who, t);
                CHECK(types.action_of(TransitionId{t}) == who.choice_action[choice]);
                for (Index b = 0; b < who.action_count; ++b) {
                    for (const Index c : used) {
                        const bool expected =
                            reference::matches(who.conditions[c], state, b, who.outcome_next[t]);
                        CHECK(types.matches(types.number_of(c), types.pair_type(TransitionId{t}),
                                            b) == expected);
                    }
                    if (b != who.choice_action[choice]) ++impossible;
                }
            }
            // As many types as there are sets of conditions over all pairs; those of transitions
            // are numbered first.
            const auto set_of = [&](Index from, Index to) {
                std::set<Index> set;
                for (const Index c : used) {
                    Condition pair = who.conditions[c];
                    pair.actions.reset();
                    if (reference::matches(pair, from, 0, to)) set.insert(c);
                }
                return set;
            };
            std::set<std::set<Index>> all, of_transitions;
            for (Index from = 0; from < who.state_count; ++from) {
                for (Index to = 0; to < who.state_count; ++to) all.insert(set_of(from, to));
            }
            for (Index t = 0; t < who.transition_count(); ++t) {
                of_transitions.insert(set_of(reference::origin(who, t).state, who.outcome_next[t]));
            }
            CHECK(types.pair_type_count() == all.size());
            for (Index t = 0; t < who.transition_count(); ++t) {
                CHECK(types.pair_type(TransitionId{t}) < of_transitions.size());
            }
        }
    }
    CHECK(impossible > 1000);
}

TEST("moves are what can happen at a layer: no chance of 0, no action out of its stages") {
    Description d = team(
        3,
        {agent(2, 2,
               {{0, 0, {{0, 0.5}, {1, 0.5}}}, {0, 1, {{1}}, 1, 1}, {1, 0, {{0, 0.0}, {1, 1.0}}}})});
    Monitor monitor;
    const LocalGraphs graphs = unroll(d, monitor);
    const LocalGraph& graph = graphs.agents[0];
    const MoveTypes types = types_of(d, 0);
    const auto seen = [&](Index layer) {
        std::vector<std::pair<Pair, Pair>> moves;  // (states), (action, transition)
        for (const Move& move : moves_at(graph, types, layer)) {
            CHECK(move.from >= graph.layer_begin[layer]);
            CHECK(move.to >= graph.layer_begin[layer + 1]);
            CHECK(move.pair_type == types.pair_type(move.transition));
            moves.push_back({{static_cast<Index>(graph.node_state[move.from]),
                              static_cast<Index>(graph.node_state[move.to])},
                             {move.action, static_cast<Index>(move.transition)}});
        }
        return moves;
    };
    using Moves = std::vector<std::pair<Pair, Pair>>;
    CHECK(seen(0) == Moves{{{0, 0}, {0, 0}}, {{0, 1}, {0, 1}}});
    CHECK(seen(1) == Moves{{{0, 0}, {0, 0}}, {{0, 1}, {0, 1}}, {{0, 1}, {1, 2}}, {{1, 1}, {0, 4}}});
    CHECK(seen(2) == Moves{{{0, 0}, {0, 0}}, {{0, 1}, {0, 1}}, {{1, 1}, {0, 4}}});
}

}  // namespace
}  // namespace coreplan
