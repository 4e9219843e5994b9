// What a problem is worth, from its definition alone: joint actions and joint outcomes are
// enumerated, entries are matched by their conditions. Slow on purpose, and shares no idea with the
// compiled model; only for problems of a few agents and states.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "model/description.hpp"

namespace coreplan::reference {

using JointState = std::vector<Index>;
using JointChoice = std::vector<Index>;  // per agent: a choice of the description

// What is done in a joint state at a stage.
using Rule = std::function<JointChoice(Index stage, const JointState& state)>;

// Where a transition of the description starts, and the choice that it is an outcome of.
struct Origin {
    Index state;
    Index choice;
};
Origin origin(const AgentDescription& agent, Index transition);

// Whether a condition matches a triple (state, action, next), possible or not.
bool matches(const Condition& condition, Index state, Index action, Index next);

class Bellman {
public:
    // Without a rule, the best joint choice is taken.
    explicit Bellman(const Description& description, Rule rule = {})
        : description_(description), rule_(std::move(rule)) {}

    [[nodiscard]] double value();
    [[nodiscard]] double value(Index stage, const JointState& state);
    [[nodiscard]] double value(Index stage, const JointState& state, const JointChoice& choice);

    // What the team earns when every agent's chosen transition happens.
    [[nodiscard]] double reward(Index stage, const JointState& state, const JointChoice& choice,
                                const std::vector<Index>& transition) const;

private:
    const Description& description_;
    Rule rule_;
    std::map<std::pair<Index, JointState>, double> known_;
};

double optimum(const Description& description);

}  // namespace coreplan::reference
