// Merging of local states that keeps rewards per transition, for what needs more than expectations.
#pragma once

#include <vector>

#include "crg/moves.hpp"
#include "model/local_graph.hpp"

namespace coreplan {

struct MergedGraphs {
    LocalGraphs graphs;
    std::vector<std::vector<NodeId>> node_class;  // per agent: node -> node of the merged graph
};

// Two nodes of a stage become one if they have the same actions and, under each, the same chances
// of the same (own reward, pair type, merged next node). Actions keep their names, so nothing that
// interactions see is lost. Without `merge`, the graphs are only copied.
MergedGraphs merge_transitions(const Description& description, const LocalGraphs& graphs,
                               bool merge, Monitor& monitor);

}  // namespace coreplan
