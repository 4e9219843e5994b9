// A problem as plain arrays, the only thing that the core is given. Names stay outside.
#pragma once

#include <optional>
#include <vector>

#include "support/ids.hpp"

namespace coreplan {

// A condition on one agent's transition. A part that is not given matches anything.
struct Condition {
    std::optional<std::vector<Index>> states;
    std::optional<std::vector<Index>> actions;
    std::optional<std::vector<Index>> nexts;
};

// Compressed rows: the choices of state s are [choice_begin[s], choice_begin[s+1]), the outcomes
// of choice c are [outcome_begin[c], outcome_begin[c+1]). An outcome is a transition.
struct AgentDescription {
    Index state_count = 0;
    Index action_count = 0;
    std::vector<Index> choice_begin;
    std::vector<Index> choice_action;
    std::vector<Index> choice_first;  // first and last stage in which the choice may be taken
    std::vector<Index> choice_last;
    std::vector<Index> outcome_begin;
    std::vector<Index> outcome_next;
    std::vector<double> outcome_probability;
    std::vector<Condition> conditions;

    [[nodiscard]] std::size_t choice_count() const { return choice_action.size(); }
    [[nodiscard]] std::size_t transition_count() const { return outcome_next.size(); }
};

struct Member {
    AgentId agent;
    Index condition;
};

// A reward that is earned when all members' conditions match, at the given stages (or always).
struct Entry {
    std::vector<Member> members;  // at most one per agent
    double value = 0;
    std::optional<std::vector<Index>> stages;
    Index function = 0;  // the reward function that it is part of
};

// What a member adds to a sum when its condition, on states and actions only, matches.
struct Amount {
    AgentId agent;
    Index condition;
    Index units;
};

// A reward for a sum over agents: at the given stages (or always), the team earns what `values` has
// for the sum of the amounts that match. Amounts of one agent add up as well.
struct Aggregate {
    std::vector<Amount> amounts;
    std::vector<double> values;  // by the sum; there is one for every sum that can come up
    std::optional<std::vector<Index>> stages;
};

// A reward of a stage, whatever it is for, counts times the stage's weight.
struct Description {
    Index horizon = 0;
    Index first_stage = 0;  // where planning starts
    std::vector<AgentDescription> agents;
    std::vector<StateId> start;  // per agent, at first_stage
    std::vector<Entry> entries;
    std::vector<Aggregate> aggregates;
    std::vector<double> weights;  // by stage, above or equal to 0; empty: 1 at every stage
};

// Throws std::invalid_argument if an index points outside its array.
void check(const Description& description);

// The transitions that a condition matches, in increasing order.
std::vector<TransitionId> matching_transitions(const AgentDescription& agent,
                                               const Condition& condition);

}  // namespace coreplan
