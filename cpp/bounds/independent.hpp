// Bounds from looking at one agent at a time: quick, valid for every problem, often loose.
#pragma once

#include <vector>

#include "model/compiled_model.hpp"

namespace coreplan {

// Per agent: one more than the largest signal that interactions look at.
std::vector<std::size_t> signal_counts(const CompiledModel& model);

// Per agent, layer and signal: the most likely that any of its actions makes the signal.
using SignalChances = std::vector<std::vector<std::vector<double>>>;
SignalChances best_chances(const CompiledModel& model);

// A policy in which every agent looks at its own class only.
struct LocalPolicy {
    std::vector<std::vector<Index>> action;  // per agent and class: position among its actions
};

struct IndependentBounds {
    LocalPolicy policy;  // every agent does what is best for itself alone
    double lower = 0;    // the exact expected value of that policy, interactions included
    double upper = 0;    // no joint policy has a higher value
};

IndependentBounds independent_bounds(const CompiledModel& model, Monitor& monitor);

// What one agent does, from one of its classes on, when it follows a policy of its own class.
struct AgentFlow {
    std::vector<double> own;     // per layer: its expected own reward
    std::vector<double> mass;    // per layer: of its outcomes; 1, up to what the input says
    std::vector<double> chance;  // [signal * layers + layer]: how likely it makes the signal then
};

// Finds it; the flow is overwritten, layers before the class's own are 0.
void follow(const CompiledModel& model, AgentId who, std::size_t signals,
            const std::vector<Index>& action, Index layer, ClassId start, AgentFlow& flow,
            Monitor& monitor);

// A bound on everything that can be earned or lost in one run.
double reward_scale(const CompiledModel& model);

// What is earned at each layer, in expectation, by a policy of which every agent looks at its own
// class only. The agents are then independent processes: the chance that an interaction happens is
// a product.
std::vector<double> rewards_of(const CompiledModel& model, const LocalPolicy& policy,
                               Monitor& monitor);

// The exact expected value of such a policy.
double value_of(const CompiledModel& model, const LocalPolicy& policy, Monitor& monitor);

}  // namespace coreplan
