#include "policies/exact_answer.hpp"

#include <algorithm>

#include "engine/kernel.hpp"
#include "engine/occupancy.hpp"

namespace coreplan {

namespace {

constexpr std::size_t kRowsAtOnce = 256;

}  // namespace

std::optional<ExactAnswer> answer_exactly(const CompiledModel& model, std::size_t most_states,
                                          unsigned threads, Monitor& monitor) {
    const std::vector<AgentId> everyone = model.everyone();
    const KernelOptions options{.policy = false, .values = true, .threads = threads};
    if (team_cells(model, everyone) > kExactCells) return std::nullopt;
    const double needed = prepared_bytes(model, everyone) + kernel_bytes(model, everyone, options);
    if (!monitor.fits(needed)) return std::nullopt;
    const PreparedTeam prepared(model, everyone, monitor);
    Reservation memory(monitor);
    const TeamSolution solution = prepared.solve(options, monitor);
    memory.adopt(static_cast<double>(solution.values.size()) * sizeof(double));
    std::uint64_t widest = 0;  // layer, for which the walk keeps a table
    for (std::size_t l = 0; l + 1 < solution.layer_begin.size(); ++l) {
        widest = std::max(widest, solution.layer_begin[l + 1] - solution.layer_begin[l]);
    }
    memory.take(static_cast<double>(widest) * sizeof(double), "an exact answer");

    ExactAnswer answer;
    const std::size_t n = everyone.size();
    answer.layers.resize(model.layer_count());
    for (RolloutLayer& layer : answer.layers) layer.states = StateSet(n);
    std::vector<ClassId> row(n);
    // States of a layer come in order, so the table is in order too.
    const auto note = [&](const Visit& here) {
        RolloutLayer& layer = answer.layers[here.layer];
        for (std::size_t m = 0; m < n; ++m) {
            const CompiledAgent& agent = model.agents[m];
            row[m] = ClassId{agent.layer_begin[here.layer] + here.states[m]};
            answer.table.classes.push_back(here.states[m]);
            answer.table.actions.push_back(here.actions[m] - agent.action_begin[at(row[m])]);
        }
        // A row here and one in the table; a number each, and a slot in the set.
        if (answer.table.size() % kRowsAtOnce == 0) {
            memory.take(kRowsAtOnce * (16.0 * static_cast<double>(n) + 40), "an exact answer");
        }
        layer.states.insert(row);
        layer.reach.push_back(here.chance);
        layer.actions.insert(layer.actions.end(), here.actions.begin(), here.actions.end());
        answer.table.layer.push_back(here.layer);
        return answer.table.size() <= most_states;
    };
    WalkBuffers buffers;
    const bool whole = solution.stop == Stop::none &&
                       walk(model, prepared.team(), solution, buffers, monitor, note);
    if (monitor.stop() != Stop::none) monitor.look_or_throw();
    if (!whole) return std::nullopt;
    return answer;
}

}  // namespace coreplan
