#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/module.hpp"
#include "crg/conditional_return_graph.hpp"
#include "crg/merge.hpp"
#include "crg/value_bound.hpp"
#include "support/reservation.hpp"

namespace coreplan::bindings {

namespace {

using Crgs = ConditionalReturnGraphs;

std::unique_ptr<Crgs> make(const Description& description, const LocalGraphs& graphs,
                           const std::vector<Index>& owner, bool literal, bool largest,
                           bool features, bool expected, bool share, Monitor& monitor) {
    std::vector<AgentId> owners;
    for (const Index each : owner) owners.push_back(AgentId{each});
    const CrgOptions options{literal, largest, features, expected, share};
    const nb::gil_scoped_release unlocked;
    return std::make_unique<Crgs>(description, graphs, owners, options, monitor);
}

// How large the graphs would be. Nothing of them is kept.
double count_arcs(const Description& description, const LocalGraphs& graphs,
                  const std::vector<Index>& owner, bool features, bool share, Monitor& monitor) {
    std::vector<AgentId> owners;
    for (const Index each : owner) owners.push_back(AgentId{each});
    const CrgOptions options{false, false, features, false, share};
    const Lease memory(monitor);
    return Crgs(description, graphs, owners, options, monitor).size().arcs();
}

// The moves behind arcs, one per agent.
std::vector<Move> moves_of(const Crgs& self, const std::vector<Index>& arcs) {
    std::vector<Move> moves;
    for (std::size_t i = 0; i < arcs.size(); ++i) {
        const LocalGraph& graph = self.graphs().agents.at(i);
        const MoveTypes& types = self.maker().types(i);
        const TransitionId transition = graph.arc_base.at(arcs[i]);
        const auto choice =
            std::ranges::upper_bound(graph.arc_begin, arcs[i]) - graph.arc_begin.begin() - 1;
        const auto node = std::ranges::upper_bound(graph.choice_begin, static_cast<Index>(choice)) -
                          graph.choice_begin.begin() - 1;
        moves.push_back({static_cast<Index>(node), static_cast<Index>(at(graph.arc_next[arcs[i]])),
                         types.action_of(transition), types.pair_type(transition), transition});
    }
    return moves;
}

const RewardTree& tree_of(const Crgs& self, std::size_t agent, Index arc) {
    const ConditionalReturnGraph& crg = self.of(agent);
    return crg.trees[crg.arc_tree.at(arc)];
}

std::vector<Index> flags(const std::vector<bool>& values) { return {values.begin(), values.end()}; }

void bind_trees(nb::module_& module) {
    nb::class_<Move>(module, "Move")
        .def_ro("from_node", &Move::from)
        .def_ro("to_node", &Move::to)
        .def_ro("action", &Move::action)
        .def_ro("pair_type", &Move::pair_type)
        .def_prop_ro("transition", [](const Move& self) { return at(self.transition); });
    nb::class_<PairGroup>(module, "PairGroup")
        .def_ro("labelled", &PairGroup::labelled)
        .def_ro("pairs", &PairGroup::pairs)
        .def_ro("example", &PairGroup::example);
    nb::class_<Branch>(module, "Branch")
        .def_ro("action", &Branch::action)
        .def_ro("sharing", &Branch::sharing)
        .def_ro("groups", &Branch::groups)
        .def_ro("labelled_arcs", &Branch::labelled_arcs)
        .def_ro("has_other", &Branch::has_other)
        .def_ro("other", &Branch::other);
    nb::class_<TreeAgent>(module, "TreeAgent")
        .def_prop_ro("agent", [](const TreeAgent& self) { return at(self.agent); })
        .def_ro("branches", &TreeAgent::branches)
        .def_ro("dependent", &TreeAgent::dependent)
        .def_ro("trivial", &TreeAgent::trivial);
    nb::class_<RewardTree>(module, "RewardTree")
        .def_ro("agents", &RewardTree::agents)
        .def_ro("most", &RewardTree::most)
        .def_ro("least", &RewardTree::least)
        .def_ro("size", &RewardTree::size);
    nb::class_<CrgSize>(module, "CrgSize")
        .def_ro("states", &CrgSize::states)
        .def_ro("action_nodes", &CrgSize::action_nodes)
        .def_ro("influence_nodes", &CrgSize::influence_nodes)
        .def_ro("action_arcs", &CrgSize::action_arcs)
        .def_ro("wildcard_arcs", &CrgSize::wildcard_arcs)
        .def_ro("influence_arcs", &CrgSize::influence_arcs)
        .def_ro("no_influence_arcs", &CrgSize::no_influence_arcs)
        .def_ro("reward_arcs", &CrgSize::reward_arcs);
}

}  // namespace

void bind_crg(nb::module_& module) {
    bind_trees(module);
    nb::class_<MergedGraphs>(module, "MergedGraphs")
        .def_prop_ro(
            "graphs", [](const MergedGraphs& self) -> const LocalGraphs& { return self.graphs; },
            nb::rv_policy::reference_internal)
        .def("node_class", [](const MergedGraphs& self, std::size_t agent) {
            return ids_to_numpy(self.node_class.at(agent));
        });
    module.def("merge_transitions", &merge_transitions, nb::arg("description"), nb::arg("graphs"),
               nb::arg("merge"), nb::arg("monitor"), nb::call_guard<nb::gil_scoped_release>());

    nb::class_<Crgs>(module, "ConditionalReturnGraphs")
        .def("tree", &tree_of, nb::arg("agent"), nb::arg("arc"), nb::rv_policy::reference_internal)
        .def("independent",
             [](const Crgs& self, std::size_t agent) {
                 return to_numpy(flags(self.of(agent).independent));
             })
        .def("in_graph", [](const Crgs& self,
                            std::size_t agent) { return to_numpy(flags(self.of(agent).in_graph)); })
        .def("local_value", [](const Crgs& self,
                               std::size_t agent) { return to_numpy(self.of(agent).local_value); })
        .def("local_choice",
             [](const Crgs& self, std::size_t agent) {
                 return to_numpy(self.of(agent).local_choice);
             })
        .def("upper",
             [](const Crgs& self, std::size_t agent) { return to_numpy(self.of(agent).upper); })
        .def("lower",
             [](const Crgs& self, std::size_t agent) { return to_numpy(self.of(agent).lower); })
        .def("size_at", [](const Crgs& self, std::size_t agent) { return self.of(agent).size_at; })
        .def("naive_at",
             [](const Crgs& self, std::size_t agent) { return self.of(agent).naive_at; })
        .def("most_dependent",
             [](const Crgs& self, std::size_t agent) { return self.of(agent).most_dependent; })
        .def("most_influence",
             [](const Crgs& self, std::size_t agent) { return self.of(agent).most_influence; })
        .def("others", [](const Crgs& self, std::size_t agent) { return self.of(agent).others; })
        .def("groups",
             [](Crgs& self, const std::vector<Index>& agents, const std::vector<Index>& nodes) {
                 return self.independence().groups(agents, nodes).positions;
             })
        .def("pair_type",
             [](const Crgs& self, std::size_t agent, Index arc) {
                 return self.maker().types(agent).pair_type(
                     self.graphs().agents.at(agent).arc_base.at(arc));
             })
        .def("run_list_of",
             [](Crgs& self, std::size_t agent) {
                 return to_numpy(self.independence().runs(agent).list_of);
             })
        .def("run_list_begin",
             [](Crgs& self, std::size_t agent) {
                 return to_numpy(self.independence().runs(agent).list_begin);
             })
        .def("runs",
             [](Crgs& self, std::size_t agent) {
                 // (condition, first stage, last stage), one after the other.
                 std::vector<Index> flat;
                 for (const StageRun& run : self.independence().runs(agent).runs) {
                     flat.insert(flat.end(), {run.signal, run.first, run.last});
                 }
                 return to_numpy(std::move(flat));
             })
        .def("events",
             [](Crgs& self) {
                 // Per interaction entry: (agent, condition) pairs, and stages or None.
                 using Members = std::vector<std::pair<Index, Index>>;
                 std::vector<std::pair<Members, std::optional<std::vector<Index>>>> events;
                 for (const auto& event : self.independence().events()) {
                     events.emplace_back(event.members, event.entry->stages);
                 }
                 return events;
             })
        .def("path",
             [](const Crgs& self, std::size_t agent, Index layer, const std::vector<Index>& arcs) {
                 // Per agent in the tree: (agent, branch, group or None for ◇).
                 std::vector<std::tuple<std::size_t, Index, std::optional<Index>>> path;
                 const auto moves = moves_of(self, arcs);
                 for (const TreeAgent& other : tree_of(self, agent, arcs.at(agent)).agents) {
                     if (other.trivial) continue;
                     const auto step = self.maker().path_of(other, moves[at(other.agent)]);
                     path.emplace_back(at(other.agent), step.branch, step.group);
                 }
                 static_cast<void>(layer);
                 return path;
             })
        .def("path_reward",
             [](const Crgs& self, std::size_t agent, Index layer, const std::vector<Index>& arcs) {
                 const LocalGraph& graph = self.graphs().agents.at(agent);
                 return graph.arc_reward.at(arcs.at(agent)) +
                        self.maker().path_reward(tree_of(self, agent, arcs.at(agent)), layer,
                                                 moves_of(self, arcs));
             });
    module.def("value_bound", &value_bound, nb::arg("description"), nb::arg("monitor"),
               nb::call_guard<nb::gil_scoped_release>());
    module.def("count_crg_arcs", &count_arcs, nb::arg("description"), nb::arg("graphs"),
               nb::arg("owner"), nb::arg("features"), nb::arg("share"), nb::arg("monitor"),
               nb::call_guard<nb::gil_scoped_release>());
    module.def("make_crgs", &make, nb::arg("description"), nb::arg("graphs"), nb::arg("owner"),
               nb::arg("literal"), nb::arg("largest"), nb::arg("features"), nb::arg("expected"),
               nb::arg("share"), nb::arg("monitor"), nb::keep_alive<0, 2>(),
               nb::keep_alive<0, 9>());
}

}  // namespace coreplan::bindings
