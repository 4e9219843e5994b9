// What the kernel needs of agents and of pairs of agents, prepared once and shared by all teams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "model/compiled_model.hpp"
#include "support/reservation.hpp"

namespace coreplan {

// One agent at one layer, all numbers counted within the layer.
struct Mode {
    Index states = 0;
    Index afters = 0;
    Index nexts = 0;
    Index class_first = 0;  // numbers of the first class, action and after-state in the model
    Index action_first = 0;
    Index after_first = 0;
    std::vector<Index> action_count;   // per state
    std::vector<Index> outcome_begin;  // per after-state
    std::vector<Index> next;
    std::vector<double> probability;

    // As an outer mode: after-states come one by one, each with the actions that lead to it. Pieces
    // share no state, so that they can be worked on apart.
    struct User {
        Index state;
        Index action;
        Index digit;  // position among the state's actions
        bool first;   // of this state, in this order
    };
    std::vector<Index> piece_begin;  // into `order`
    std::vector<Index> order;        // after-states
    std::vector<Index> user_begin;   // per position of `order`
    std::vector<User> user;

    // As the last mode: slots, one per action, so that no action has to be looked up. States come
    // with many actions first; rank r holds the states' actions number r, side by side.
    std::vector<Index> rank_begin;
    std::vector<Index> slot_action;
    std::vector<Index> slot_next;  // of the first outcome
    std::vector<double> slot_probability;
    std::vector<Index> spread;  // slots with more outcomes
    std::vector<Index> spread_begin;
    std::vector<Index> spread_next;
    std::vector<double> spread_probability;
    std::vector<Index> state_at;          // per position: the state; empty if they are the same
    std::vector<Index> after_slot_begin;  // per after-state: its slots
    std::vector<Index> after_slot;

    [[nodiscard]] std::size_t slots() const noexcept { return slot_action.size(); }
};

// All layers of an agent.
using AgentModes = std::vector<Mode>;
AgentModes make_modes(const CompiledModel& model, AgentId agent);
// The work of making them.
std::uint64_t modes_work(const CompiledModel& model, AgentId agent);
// The memory that they take, about.
double modes_bytes(const CompiledModel& model, AgentId agent);

// The interactions of exactly two agents: per layer and pair of after-states the expected reward,
// where it is not zero. Rows are after-states of the first agent, numbered as in the model's agent.
struct PairBlock {
    AgentId first{};
    AgentId second{};
    std::vector<Index> row_begin;  // per after-state of the first agent, all layers
    std::vector<Index> column;     // after-state of the second, within its layer
    std::vector<double> value;
};

// Blocks of all pairs among some agents; in each, the agent that comes first in `agents` is first.
// Throws if they do not fit into memory.
std::vector<PairBlock> make_pair_blocks(const CompiledModel& model,
                                        const std::vector<AgentId>& agents, Reservation& memory);

// The memory that modes and blocks of some agents take, at most about.
double prepared_bytes(const CompiledModel& model, const std::vector<AgentId>& agents);

// Where an agent stands among others; their number if it is not one of them.
inline std::size_t position_in(const std::vector<AgentId>& agents, AgentId agent) {
    return static_cast<std::size_t>(std::ranges::find(agents, agent) - agents.begin());
}

// Interactions with three or more members, all of them among `agents`.
std::vector<Index> wide_interactions(const CompiledModel& model,
                                     const std::vector<AgentId>& agents);

// Aggregates that count at some layer and have all their members among `agents`.
std::vector<Index> aggregates_among(const CompiledModel& model, const std::vector<AgentId>& agents);

// Those that count at some layer and have a member among `agents`.
std::vector<Index> aggregates_touching(const CompiledModel& model,
                                       const std::vector<AgentId>& agents);

// What agents add to an aggregate's sum if they go to these after-states, one for each of them.
std::size_t units_of(const CompiledModel& model, const CompiledAggregate& aggregate,
                     const std::vector<AgentId>& agents, std::span<const AfterId> afters);

}  // namespace coreplan
