// Entries sorted by how many agents they really look at: constants, own rewards, interactions.
//
// An entry with value v is v times a product of one indicator per agent. Entries that look at the
// same things are added up; an indicator that is always 1 is left out; one that is never 1 removes
// its entry. What then looks at no agent is a constant, at one agent an own reward per transition,
// at several an interaction.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "model/description.hpp"
#include "support/ids.hpp"

namespace coreplan {

// What rewards count at each stage; see `Description::weights`.
class StageWeights {
public:
    StageWeights() = default;
    explicit StageWeights(const std::vector<double>& by_stage) {
        if (!by_stage.empty()) by_stage_ = std::make_shared<const std::vector<double>>(by_stage);
    }
    // Whether they may differ between stages.
    [[nodiscard]] bool vary() const noexcept { return by_stage_ != nullptr; }
    [[nodiscard]] double at_stage(Index stage) const {
        return by_stage_ ? (*by_stage_)[stage] : 1.0;
    }

private:
    std::shared_ptr<const std::vector<double>> by_stage_;
};

// A value per stage: a constant, and what is added to it at some stages; times the stage's weight.
class StageValue {
public:
    void add(double value, const std::optional<std::vector<Index>>& stages);
    // Sorts and adds up; call once, after the last `add`.
    void finish(StageWeights weights = {});

    [[nodiscard]] double at_stage(Index stage) const;
    // Both without weights.
    [[nodiscard]] double constant() const noexcept { return constant_; }
    [[nodiscard]] const std::vector<std::pair<Index, double>>& extra() const noexcept {
        return extra_;
    }

private:
    double constant_ = 0;
    std::vector<std::pair<Index, double>> extra_;
    StageWeights weights_;
};

struct InteractionMember {
    AgentId agent;
    SignalId signal;
};

struct Interaction {
    std::vector<InteractionMember> members;  // two or more, by agent
    StageValue value;
};

struct OwnReward {
    Index matches;  // position in AgentRewards::matches
    double value;
};

struct AgentRewards {
    // The distinct sets of transitions that conditions of this agent match.
    std::vector<std::vector<TransitionId>> matches;

    // Own reward of a transition: constant, plus what the stage adds; times the stage's weight.
    std::vector<double> constant;                  // per transition
    std::vector<std::vector<OwnReward>> at_stage;  // per stage; empty if no stage adds anything
    StageWeights weights;

    // Signals: the match sets that interactions look at, and per transition which of them match.
    std::vector<Index> signal_matches;           // signal -> position in matches
    std::vector<Index> transition_signal_begin;  // compressed rows
    std::vector<SignalId> transition_signal;

    [[nodiscard]] std::size_t signal_count() const noexcept { return signal_matches.size(); }

    // Whether own rewards may differ between stages.
    [[nodiscard]] bool vary() const noexcept { return !at_stage.empty() || weights.vary(); }
    // Own rewards of all transitions at one stage; `rewards` is overwritten.
    void rewards_at(Index stage, std::vector<double>& rewards) const;
    // The same for many stages in turn, without the weights: `rewards` begins as `constant`, and
    // gets what one stage adds, until that is taken away.
    void add_stage(Index stage, std::vector<double>& rewards) const;
    void take_stage(Index stage, std::vector<double>& rewards) const;
};

// A member of an aggregate. Each amount that it can add has a signal of its own, so a transition
// makes at most one of them.
struct AggregateMember {
    AgentId agent;
    std::vector<std::pair<SignalId, Index>> units;  // above 0, by signal
};

// An aggregate of two or more members that is not a sum of own rewards. Nothing is earned for a sum
// of 0: what it brings is a constant.
struct AggregateReward {
    std::vector<AggregateMember> members;  // by agent
    std::vector<double> values;            // by the sum, from 0; without the stages' weights
    std::optional<std::vector<Index>> stages;
    Index number;  // among the aggregates of the description
};

struct Rewards {
    std::vector<AgentRewards> agents;
    std::vector<Interaction> interactions;
    std::vector<AggregateReward> aggregates;
    // The entries behind the interactions one by one, with the members that they really look at:
    // what has to know which reward function a value comes from. Without the stages' weights.
    std::vector<Entry> interaction_entries;
    StageValue constant;
    StageWeights weights;
};

// Whether every unit of a sum is worth the same, up to rounding; `values` begin with 0.
bool is_linear(std::span<const double> values);

Rewards sort_rewards(const Description& description);

}  // namespace coreplan
