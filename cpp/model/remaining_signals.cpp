#include "model/remaining_signals.hpp"

#include "model/stage_runs.hpp"

namespace coreplan {

SignalRuns remaining_signals(const CompiledModel& model, AgentId id, Monitor& monitor) {
    const CompiledAgent& agent = model.agents[at(id)];
    StageRuns found = collect_runs(
        model.first_stage, model.layer_count(), agent.layer_begin,
        [&](Index c, auto signal, auto next) {
            for (Index a = agent.action_begin[c]; a < agent.action_begin[c + 1]; ++a) {
                const std::size_t after = at(agent.action_after[a]);
                const std::size_t label = at(agent.after_label[after]);
                for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                    signal(static_cast<Index>(at(agent.label_factor[f].signal)));
                }
                for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1];
                     ++o) {
                    next(static_cast<Index>(at(agent.outcome_next[o])));
                }
            }
        },
        monitor);
    SignalRuns result;
    result.list_of_class = std::move(found.list_of);
    result.list_begin = std::move(found.list_begin);
    for (const StageRun& run : found.runs) {
        result.runs.push_back({SignalId{run.signal}, run.first, run.last});
    }
    return result;
}

}  // namespace coreplan
