#include "decentralised/central_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/kernel.hpp"

namespace coreplan {

namespace {

constexpr KernelOptions kValuesOnly{.policy = false, .values = true, .threads = 1};
constexpr double kMostCells = 1e18;

Index afters_at(const CompiledAgent& agent, Index layer) {
    return agent.after_layer_begin[layer + 1] - agent.after_layer_begin[layer];
}

// Cells of the tables of all layers, and the most that a table has on the way to one.
std::pair<double, double> cells_of(const CompiledModel& model) {
    double all = 0;
    double widest = 1;
    for (Index layer = 0; layer < model.layer_count(); ++layer) {
        double cells = 1;
        double most = 1;
        for (const CompiledAgent& agent : model.agents) {
            const auto afters = static_cast<double>(afters_at(agent, layer));
            cells *= afters;
            most *= std::max(afters, static_cast<double>(agent.layer_size(layer + 1)));
        }
        all += cells;
        widest = std::max(widest, most);
    }
    return {all, widest};
}

}  // namespace

double CentralValues::bytes_of(const CompiledModel& model) {
    const auto [all, widest] = cells_of(model);
    if (widest > kMostCells) return std::numeric_limits<double>::infinity();
    return prepared_bytes(model, model.everyone()) +
           kernel_bytes(model, model.everyone(), kValuesOnly) + (all + 2 * widest) * sizeof(double);
}

CentralValues::CentralValues(const CompiledModel& model, Monitor& monitor)
    : model_(model), monitor_(monitor), memory_(monitor), matching_(model.agents.size()) {
    const auto [all, widest] = cells_of(model);
    const double passing = 2 * widest * sizeof(double);
    const double bytes = bytes_of(model);
    if (!std::isfinite(bytes)) {
        throw LimitReached(Stop::memory_limit,
                           "the table of centralised values is beyond any memory");
    }
    memory_.take(bytes, "the table of centralised values");
    memory_.set(all * sizeof(double) + passing, "");  // the kernel takes its own part
    {
        const Lease kernel(monitor);
        const TeamSolution solution = solve_team(model, model.everyone(), kValuesOnly, monitor);
        if (solution.stop != Stop::none) {
            throw LimitReached(solution.stop, "stopped before all centralised values were found");
        }
        value_ = solution.value;
        cells_ = solution.cells;
        after_.resize(model.layer_count());
        for (Index layer = 0; layer < model.layer_count(); ++layer) {
            const bool last = layer + 1 == model.layer_count();
            look_ahead(layer,
                       last ? nullptr : solution.values.data() + solution.layer_begin[layer + 1]);
            add_interactions(layer);
            add_sums(layer);
        }
    }
    other_ = {};
    memory_.give_back(passing);
}

// The expected value of the next layer, one agent after the other: its next classes become its
// after-states.
void CentralValues::look_ahead(Index layer, const double* next) {
    std::vector<double>& table = after_[layer];
    std::size_t inner = 1;
    std::size_t outer = 1;
    for (const CompiledAgent& agent : model_.agents) outer *= afters_at(agent, layer);
    if (next == nullptr) {
        table.assign(outer, 0.0);
        return;
    }
    outer = 1;
    for (const CompiledAgent& agent : model_.agents) outer *= agent.layer_size(layer + 1);
    table.assign(next, next + outer);
    for (std::size_t i = model_.agents.size(); i-- > 0;) {
        const CompiledAgent& agent = model_.agents[i];
        const std::size_t states = agent.layer_size(layer + 1);
        const Index first = agent.after_layer_begin[layer];
        const Index afters = afters_at(agent, layer);
        outer /= states;
        other_.assign(outer * afters * inner, 0.0);
        for (std::size_t x = 0; x < outer; ++x) {
            const double* from = table.data() + x * states * inner;
            double* to = other_.data() + x * afters * inner;
            for (Index f = first; f < first + afters; ++f, to += inner) {
                for (Index o = agent.outcome_begin[f]; o < agent.outcome_begin[f + 1]; ++o) {
                    const double chance = agent.outcome_probability[o];
                    const double* row =
                        from + (at(agent.outcome_next[o]) - agent.layer_begin[layer + 1]) * inner;
                    for (std::size_t y = 0; y < inner; ++y) to[y] += chance * row[y];
                    monitor_.tick_or_throw(inner + 4);
                }
            }
        }
        std::swap(table, other_);
        inner *= afters;
    }
    table.shrink_to_fit();
}

void CentralValues::add_interactions(Index layer) {
    for (std::size_t k = 0; k < model_.interactions_at[layer].size(); ++k) {
        const CompiledInteraction& interaction =
            model_.interactions[model_.interactions_at[layer][k]];
        for (std::size_t i = 0; i < model_.agents.size(); ++i) {
            const CompiledAgent& agent = model_.agents[i];
            const auto member =
                std::ranges::find(interaction.members, as<AgentId>(i), &InteractionMember::agent);
            matching_[i].clear();
            for (Index f = 0; f < afters_at(agent, layer); ++f) {
                const double chance =
                    member == interaction.members.end()
                        ? 1.0
                        : agent.chance(agent.after_layer_begin[layer] + f, member->signal);
                if (chance != 0) matching_[i].emplace_back(f, chance);
            }
        }
        spread(layer, 0, 0, model_.values_at[layer][k]);
    }
}

// Adds what aggregates bring, with the first agent's after-state as the most significant digit.
void CentralValues::add_sums(Index layer) {
    const std::size_t n = model_.agents.size();
    for (const Index e : model_.aggregates_at[layer]) {
        const CompiledAggregate& aggregate = model_.aggregates[e];
        const std::span<const double> table = aggregate.table(layer);
        std::vector<std::vector<Index>> units(n);
        for (std::size_t i = 0; i < n; ++i) {
            units[i].assign(afters_at(model_.agents[i], layer), 0);
        }
        for (const AggregateMember& member : aggregate.members) {
            const std::size_t i = at(member.agent);
            const Index first = model_.agents[i].after_layer_begin[layer];
            for (Index f = 0; f < units[i].size(); ++f) {
                units[i][f] = model_.units(member, AfterId{first + f});
            }
        }
        std::vector<std::size_t> digit(n, 0);
        std::size_t sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += units[i][0];
        for (double& value : after_[layer]) {
            value += table[sum];
            for (std::size_t i = n; i-- > 0;) {
                sum -= units[i][digit[i]];
                digit[i] = digit[i] + 1 < units[i].size() ? digit[i] + 1 : 0;
                sum += units[i][digit[i]];
                if (digit[i] != 0) break;
            }
        }
        monitor_.tick_or_throw(4 * after_[layer].size());
    }
}

// Adds an interaction where it matches. Recurses over the agents, of which there are few.
void CentralValues::spread(Index layer, std::size_t agent, std::size_t offset, double weight) {
    const std::size_t size = afters_at(model_.agents[agent], layer);
    const bool last = agent + 1 == model_.agents.size();
    for (const auto& [after, chance] : matching_[agent]) {
        const std::size_t here = offset * size + after;
        if (last) {
            after_[layer][here] += weight * chance;
        } else {
            spread(layer, agent + 1, here, weight * chance);
        }
    }
    monitor_.tick_or_throw(matching_[agent].size());
}

}  // namespace coreplan
