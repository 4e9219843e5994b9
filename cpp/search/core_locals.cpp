#include "search/core_locals.hpp"

namespace coreplan {

CoreLocals::CoreLocals(const ConditionalReturnGraphs& crgs, const RewardPaths& paths,
                       Monitor& monitor)
    : memory_(monitor) {
    for (std::size_t i = 0; i < crgs.agent_count(); ++i) {
        const LocalGraph& graph = crgs.graphs().agents[i];
        const ConditionalReturnGraph& crg = crgs.of(i);
        const std::size_t choices = graph.arc_begin.size() - 1;
        memory_.take(static_cast<double>(graph.arc_next.size()) * sizeof(Arc) +
                         static_cast<double>(choices) * (2 * sizeof(double) + 1),
                     "the bounds of one agent's actions");
        Agent& own = agents_.emplace_back();
        own.choice_begin = graph.choice_begin.data();
        own.arc_begin = graph.arc_begin.data();
        own.crg = &crg;
        own.arcs.reserve(graph.arc_next.size());
        for (std::size_t c = 0; c < choices; ++c) {
            double upper = 0;
            double lower = 0;
            bool interacts = false;
            for (Index arc = graph.arc_begin[c]; arc < graph.arc_begin[c + 1]; ++arc) {
                const double p = graph.arc_probability[arc];
                const std::size_t next = at(graph.arc_next[arc]);
                upper += p * (graph.arc_reward[arc] + crg.upper[next]);
                lower += p * (graph.arc_reward[arc] + crg.lower[next]);
                const Index tree = paths.tree(i, arc);
                interacts = interacts || tree != RewardPaths::kNone;
                own.arcs.push_back(
                    {p, graph.arc_reward[arc], crg.upper[next], static_cast<Index>(next), tree});
            }
            own.upper.push_back(upper);
            own.lower.push_back(lower);
            own.interacts.push_back(interacts ? 1 : 0);
            monitor.tick_or_throw(16);
        }
    }
}

}  // namespace coreplan
