// Prices of what members add to an aggregate's sum: who owns it, who is paid, what sums are worth.
//
// Of several small teams with some agents in all, one owns an aggregate: the one with most of its
// members. The other members get the price of each unit that they add; the owner pays it for as
// many of their units as suit it best. Under any joint policy the price of a unit cancels, and the
// owner could buy just what is added: the teams' optima are at least what all earn together.
#pragma once

#include <span>
#include <vector>

#include "model/compiled_model.hpp"
#include "support/monitor.hpp"

namespace coreplan {

// What the actions of an aggregate's members add to the sum.
struct SumMembers {
    std::vector<std::vector<Index>> units;  // per member and action
    std::vector<std::vector<Index>> most;   // per member and layer at which the aggregate counts
};

SumMembers members_of(const CompiledModel& model, const CompiledAggregate& aggregate,
                      Monitor& monitor);

// Who does what for an aggregate, as positions among its members.
struct SumRoles {
    std::size_t owner = 0;             // the team
    std::vector<std::size_t> inside;   // members in it
    std::vector<std::size_t> outside;  // all others that take part
    std::vector<std::size_t> payer;    // of those outside: the first team that has them
    [[nodiscard]] bool priced() const noexcept { return !outside.empty(); }
};

// Of the members in `among` (all others add nothing), in teams that together have all of these.
// `among` is in order. The owner is the first team with most of them.
SumRoles roles_of(const CompiledAggregate& aggregate, std::span<const AgentId> among,
                  const std::vector<const std::vector<AgentId>*>& teams);

// What sums of the owner's members are worth to it, per sum from 0 to `mine`, if others add what
// suits it best, `others` units at most: the largest value of a sum, less the price of each unit
// that is bought. Of equally good numbers of units the smallest.
void worth_of_sums(std::span<const double> values, double price, std::size_t mine,
                   std::size_t others, double* worth, Index* bought);

// Adds the price of each unit that a member adds to its own rewards.
void pay_units(const CompiledAggregate& aggregate, const CompiledAgent& agent,
               const std::vector<Index>& units, const double* price, std::span<double> rewards);

}  // namespace coreplan
