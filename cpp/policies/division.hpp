// A team taken apart into blocks that are solved exactly.
//
// Agents without a choice go on in the same way whatever the others do, so every block may look at
// all of those that it has to do with. What is earned across blocks does not count: if nothing
// costs across blocks, the sum of the blocks' values is at most the value of the team, and the
// blocks' actions are worth that much at least. Unlike a profile, a block sees where others are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/kernel.hpp"
#include "model/joint_layout.hpp"
#include "support/reservation.hpp"

namespace coreplan {

// Some agents, among them all those without a choice that they interact with, and their solution.
class Block {
public:
    // `model` is that of these agents, without rewards that other blocks count. Throws if there is
    // no room.
    Block(const CompiledModel& model, const std::vector<AgentId>& agents, unsigned threads,
          Monitor& monitor);

    [[nodiscard]] double root_value() const noexcept { return solution_.value; }
    // The best that its agents can earn from a joint state of all agents on.
    [[nodiscard]] double value(Index layer, std::span<const ClassId> classes) const {
        return solution_.values[number(layer, classes)];
    }
    // Writes the best actions of its agents, as numbers within the agent, into a joint action.
    void act(Index layer, std::span<const ClassId> classes, std::span<Index> actions) const;

private:
    [[nodiscard]] std::uint64_t number(Index layer, std::span<const ClassId> classes) const {
        std::uint64_t number = layout_.layer_begin(layer);
        for (std::size_t m = 0; m < agents_.size(); ++m) {
            const std::size_t within = at(classes[agents_[m]]) - *first_class(layer, m);
            number += layout_.stride(layer, m) * within;
        }
        return number;
    }
    [[nodiscard]] const Index* first_class(Index layer, std::size_t member) const {
        return first_class_.data() + layer * agents_.size() + member;
    }

    std::vector<std::size_t> agents_;
    std::vector<Index> first_class_;                // per layer and agent
    std::vector<std::vector<Index>> action_begin_;  // per agent
    JointLayout layout_;
    TeamSolution solution_;
    Reservation memory_;
};

// Blocks that have every agent with a choice once.
class Division {
public:
    explicit Division(std::vector<std::shared_ptr<const Block>> blocks)
        : blocks_(std::move(blocks)) {}

    // What the blocks earn together from a joint state on, without own rewards of agents that have
    // no choice and without interactions among them.
    [[nodiscard]] double value(Index layer, std::span<const ClassId> classes) const {
        double total = 0;
        for (const auto& block : blocks_) total += block->value(layer, classes);
        return total;
    }
    // What the blocks do; `actions` keeps those of agents that are in no block.
    void act(Index layer, std::span<const ClassId> classes, std::span<Index> actions) const {
        for (const auto& block : blocks_) block->act(layer, classes, actions);
    }

private:
    std::vector<std::shared_ptr<const Block>> blocks_;
};

struct DivisionOptions {
    std::size_t most = 6;                   // divisions that are kept
    std::size_t looks = 12;                 // divisions whose neighbours are looked at
    double block_work = 5e7;                // of solving a block, at most
    std::uint64_t most_work = 300'000'000;  // of solving all blocks, about
    unsigned threads = 1;
};

// The divisions that are worth most at the root, the best first. None unless agents without a
// choice interact with others, and something is left to divide.
std::vector<Division> divide(const CompiledModel& model, const DivisionOptions& options,
                             Monitor& monitor);

}  // namespace coreplan
