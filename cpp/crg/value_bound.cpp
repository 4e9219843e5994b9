#include "crg/value_bound.hpp"

#include <algorithm>

#include "bounds/independent.hpp"
#include "bounds/rounding.hpp"
#include "crg/conditional_return_graph.hpp"
#include "crg/merge.hpp"
#include "model/compiled_model.hpp"
#include "model/unit_mass.hpp"
#include "support/reservation.hpp"

namespace coreplan {

namespace {

double graph_bound(const Description& description, const LocalGraphs& graphs, Monitor& monitor) {
    std::vector<AgentId> owners;
    for (const Entry& entry : graphs.rewards.interaction_entries) {
        owners.push_back(entry.members[0].agent);
    }
    const ConditionalReturnGraphs crgs(description, graphs, owners,
                                       CrgOptions{.features = true, .expected = true}, monitor);
    double upper = 0;
    double error = 0;
    for (Index layer = 0; layer < graphs.stage_count(); ++layer) {
        upper += graphs.rewards.constant.at_stage(graphs.first_stage + layer);
    }
    // Of each aggregate the best that its sum can bring.
    for (const AggregateReward& aggregate : graphs.rewards.aggregates) {
        const double best = std::max(0.0, std::ranges::max(aggregate.values));
        for (Index layer = 0; layer < graphs.stage_count(); ++layer) {
            const Index stage = graphs.first_stage + layer;
            const bool counts =
                !aggregate.stages || std::ranges::count(*aggregate.stages, stage) > 0;
            if (counts) upper += best * graphs.rewards.weights.at_stage(stage);
        }
    }
    for (std::size_t i = 0; i < crgs.agent_count(); ++i) {
        const LocalGraph& graph = graphs.agents[i];
        const ConditionalReturnGraph& crg = crgs.of(i);
        double most = 0;
        std::size_t terms = 0;
        for (std::size_t arc = 0; arc < graph.arc_next.size(); ++arc) {
            const RewardTree& tree = crg.trees[crg.arc_tree[arc]];
            most = std::max(most, std::max(0.0, graph.arc_reward[arc]) + std::max(0.0, tree.most));
            terms = std::max(terms, tree.entries.size());
        }
        for (std::size_t c = 0; c + 1 < graph.arc_begin.size(); ++c) {
            terms = std::max<std::size_t>(terms, graph.arc_begin[c + 1] - graph.arc_begin[c]);
        }
        upper += crg.upper[0];
        error += rounding_error(static_cast<double>(terms) + 2, graphs.stage_count(),
                                most * graphs.stage_count(), crg.upper[0]) +
                 rounding_error(1, 0, 0, upper);
    }
    return upper + error;
}

}  // namespace

double value_bound(const Description& description, Monitor& monitor) {
    const Lease memory(monitor);
    const LocalGraphs graphs = unroll(description, monitor);
    const CompiledModel model = compile(graphs, true, monitor);
    const double alone = independent_bounds(model, monitor).upper;
    try {
        const MergedGraphs merged = merge_transitions(description, graphs, true, monitor);
        const double by_graphs = graph_bound(description, merged.graphs, monitor);
        return std::min(alone, by_graphs + 2 * mass_error(model));
    } catch (const LimitReached& limit) {
        // Agents with very many others in their reward functions: the first bound has to do.
        if (limit.stop != Stop::memory_limit) throw;
        return alone;
    }
}

}  // namespace coreplan
