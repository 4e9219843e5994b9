// Descriptions to test with: short ways to write one by hand, and random ones.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "model/compiled_model.hpp"
#include "model/description.hpp"

namespace coreplan::problems {

constexpr Index kLastStage = std::numeric_limits<Index>::max();

struct Branch {
    Index next;
    double probability = 1;
};

struct Choice {
    Index state;
    Index action;
    std::vector<Branch> outcomes;
    Index first = 0;
    Index last = kLastStage;
};

// An agent with these choices; those of one state keep their order. Transitions are numbered by
// state, then choice, then outcome.
AgentDescription agent(Index states, Index actions, std::vector<Choice> choices);

// One state, whose actions all lead back to it.
AgentDescription one_state(Index actions);

Condition on_states(std::vector<Index> states);
Condition on_actions(std::vector<Index> actions);
Condition on_nexts(std::vector<Index> nexts);
Condition on_anything();
Condition on(std::vector<Index> states, std::vector<Index> actions, std::vector<Index> nexts);

// Adds the condition and refers to it.
Member when(Description& description, Index agent, Condition condition);

Entry entry(double value, std::vector<Member> members,
            std::optional<std::vector<Index>> stages = std::nullopt);

// All agents start in state 0, at stage 0.
Description team(Index horizon, std::vector<AgentDescription> agents);

// Small, cyclic and stochastic, with rewards of every scope and sign. About a quarter have
// probabilities that do not sum exactly to 1. Values and probabilities are coarse and states are
// sometimes copies of each other, so that there is something to merge. Reward functions have two
// entries each, which need not look at the same agents. In a third, stages have weights.
Description random_team(std::uint64_t seed);

// The same with one to three aggregates: costs and gains, thresholds and anything else, amounts
// that add up within an agent, some stages only.
Description random_team_with_sums(std::uint64_t seed);

// One or the other: three seeds in turn.
Description any_team(std::uint64_t seed);

// Agents that get from everywhere to everywhere, every neighbouring two of which interact. Nothing
// can be merged, so that a stage has states^agents joint states soon.
Description crowd(Index agents, Index states, Index horizon);

// With no limits: what most tests want.
CompiledModel compiled(const Description& description, bool merge = true);

// Whether all laws of the description sum to 1, as conditional return graphs take for granted.
bool unit_mass(const Description& description);

// The tolerance for values that are sums of many terms.
double relative(double value, double tolerance = 1e-9);

}  // namespace coreplan::problems
