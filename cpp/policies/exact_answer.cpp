#include "policies/exact_answer.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "engine/kernel.hpp"

namespace coreplan {

namespace {

// Rows are looked up by layer and classes, so they have to be in that order.
JointTable sorted(const JointTable& table, std::size_t n) {
    std::vector<std::size_t> order(table.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto row = [&](std::size_t r) { return std::span(table.classes).subspan(r * n, n); };
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        if (table.layer[a] != table.layer[b]) return table.layer[a] < table.layer[b];
        return std::ranges::lexicographical_compare(row(a), row(b));
    });
    JointTable result;
    for (const std::size_t r : order) {
        result.layer.push_back(table.layer[r]);
        for (std::size_t m = 0; m < n; ++m) {
            result.classes.push_back(table.classes[r * n + m]);
            result.actions.push_back(table.actions[r * n + m]);
        }
    }
    return result;
}

}  // namespace

std::optional<ExactAnswer> answer_exactly(const CompiledModel& model, std::size_t most_states,
                                          unsigned threads, Monitor& monitor) {
    std::vector<AgentId> everyone;
    for (std::size_t i = 0; i < model.agents.size(); ++i) everyone.push_back(as<AgentId>(i));
    const KernelOptions options{.policy = true, .threads = threads};
    if (team_cells(model, everyone) > kExactCells) return std::nullopt;
    if (!monitor.fits(kernel_bytes(model, everyone, options))) return std::nullopt;
    const TeamSolution solution = PreparedTeam(model, everyone).solve(options, monitor);
    const auto kept = static_cast<double>(solution.decisions.size()) * sizeof(std::uint32_t);
    monitor.release(kept);
    if (solution.stop != Stop::none) monitor.tick_or_throw(1ULL << 40U);

    const std::size_t n = everyone.size();
    ExactAnswer answer;
    answer.layers.resize(model.layer_count() + 1);
    for (RolloutLayer& layer : answer.layers) layer.states = StateSet(n);
    std::vector<ClassId> row(n, ClassId{0});
    answer.layers[0].states.insert(row);
    answer.layers[0].reach.push_back(1.0);
    std::size_t states = 0;
    std::vector<std::pair<std::vector<ClassId>, double>> outcomes;
    std::vector<std::pair<std::vector<ClassId>, double>> wider;
    for (Index l = 0; l < model.layer_count(); ++l) {
        RolloutLayer& layer = answer.layers[l];
        RolloutLayer& next = answer.layers[l + 1];
        states += layer.size();
        if (states > most_states) return std::nullopt;
        for (std::size_t s = 0; s < layer.size(); ++s) {
            std::uint64_t number = 0;
            for (std::size_t m = 0; m < n; ++m) {
                const CompiledAgent& agent = model.agents[m];
                number = number * agent.layer_size(l) + at(layer.states[s][m]) - agent.layer_begin[l];
            }
            std::uint32_t code = solution.decisions[solution.layer_begin[l] + number];
            layer.actions.resize((s + 1) * n);
            answer.table.layer.push_back(l);
            answer.table.actions.resize(answer.table.layer.size() * n);
            for (std::size_t m = n; m-- > 0;) {
                const CompiledAgent& agent = model.agents[m];
                const std::size_t c = at(layer.states[s][m]);
                const Index count = agent.action_begin[c + 1] - agent.action_begin[c];
                const Index digit = code % count;
                code /= count;
                layer.actions[s * n + m] = agent.action_begin[c] + digit;
                answer.table.actions[(answer.table.layer.size() - 1) * n + m] = digit;
            }
            outcomes.assign(1, {{}, layer.reach[s]});
            for (std::size_t m = 0; m < n; ++m) {
                const CompiledAgent& agent = model.agents[m];
                answer.table.classes.push_back(static_cast<Index>(at(layer.states[s][m])) -
                                               agent.layer_begin[l]);
                const std::size_t after = at(agent.action_after[layer.actions[s * n + m]]);
                wider.clear();
                for (const auto& [classes, chance] : outcomes) {
                    for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1];
                         ++o) {
                        wider.emplace_back(classes, chance * agent.outcome_probability[o]);
                        wider.back().first.push_back(agent.outcome_next[o]);
                    }
                }
                std::swap(outcomes, wider);
            }
            for (const auto& [classes, chance] : outcomes) {
                const auto [there, is_new] = next.states.insert(classes);
                if (is_new) next.reach.push_back(0.0);
                next.reach[there] += chance;
            }
            monitor.tick_or_throw(32 * outcomes.size());
        }
    }
    answer.table = sorted(answer.table, n);
    return answer;
}

}  // namespace coreplan
