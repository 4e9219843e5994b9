// How likely each sum of an aggregate is, if its members act apart.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "model/compiled_model.hpp"

namespace coreplan {

// The amounts that a member adds, with their chances; the rest of the chance is that it adds 0.
using Amounts = std::vector<std::pair<Index, double>>;

// `chance`: [signal * layers + layer], as in AgentFlow; `mass`: what all chances add up to.
Amounts amounts_of(const AggregateMember& member, std::span<const double> chance,
                   std::size_t layers, std::size_t layer, double mass = 1);

// Adds a member to a sum: `sums` has the chance of every value of the sum.
void add_amounts(std::vector<double>& sums, const Amounts& amounts);

// What an aggregate with these values is expected to bring, if `more` comes on top of the sum.
double expected_value(std::span<const double> values, std::span<const double> sums,
                      std::size_t more = 0);

}  // namespace coreplan
