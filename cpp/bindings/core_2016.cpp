#include "search/core_2016.hpp"

#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"

namespace coreplan::bindings {

void bind_core_2016(nb::module_& module) {
    nb::class_<GroupDecision>(module, "GroupDecision")
        .def_ro("layer", &GroupDecision::layer)
        .def_ro("agents", &GroupDecision::agents)
        .def_ro("nodes", &GroupDecision::nodes)
        .def_ro("choices", &GroupDecision::choices);
    nb::class_<TraceAction>(module, "TraceAction")
        .def_ro("choices", &TraceAction::choices)
        .def_ro("upper", &TraceAction::upper)
        .def_ro("lower", &TraceAction::lower)
        .def_ro("graph_upper", &TraceAction::graph_upper)
        .def_ro("graph_lower", &TraceAction::graph_lower)
        .def_ro("pruned", &TraceAction::pruned)
        .def_ro("given_up", &TraceAction::given_up)
        .def_ro("best_known", &TraceAction::best_known)
        .def_ro("value", &TraceAction::value);
    nb::class_<TraceState>(module, "TraceState")
        .def_ro("parent", &TraceState::parent)
        .def_ro("parent_action", &TraceState::parent_action)
        .def_ro("probability", &TraceState::probability)
        .def_ro("layer", &TraceState::layer)
        .def_ro("agents", &TraceState::agents)
        .def_ro("nodes", &TraceState::nodes)
        .def_ro("independent", &TraceState::independent)
        .def_ro("remembered", &TraceState::remembered)
        .def_ro("groups", &TraceState::groups)
        .def_ro("actions", &TraceState::actions)
        .def_ro("value", &TraceState::value);
    nb::class_<CoreResult>(module, "CoreResult")
        .def_ro("stop", &CoreResult::stop)
        .def_ro("lower", &CoreResult::lower)
        .def_ro("upper", &CoreResult::upper)
        .def_ro("given_away", &CoreResult::given_away)
        .def_ro("states_expanded", &CoreResult::states_expanded)
        .def_ro("actions_evaluated", &CoreResult::actions_evaluated)
        .def_ro("actions_pruned", &CoreResult::actions_pruned)
        .def_ro("actions_bounded", &CoreResult::actions_bounded)
        .def_ro("decouplings", &CoreResult::decouplings)
        .def_ro("decisions", &CoreResult::decisions)
        .def_ro("trace", &CoreResult::trace)
        .def_ro("trace_full", &CoreResult::trace_full);
    nb::enum_<RewardSource>(module, "RewardSource")
        .value("graph", RewardSource::graph)
        .value("entries", RewardSource::entries)
        .value("checked", RewardSource::checked);
    nb::class_<CoreOptions>(module, "CoreOptions")
        .def(nb::init<>())
        .def_rw("bounds", &CoreOptions::bounds)
        .def_rw("memo", &CoreOptions::memo)
        .def_rw("table", &CoreOptions::table)
        .def_rw("promising", &CoreOptions::promising)
        .def_rw("update", &CoreOptions::update)
        .def_rw("rewards", &CoreOptions::rewards)
        .def_rw("independent_actions", &CoreOptions::independent_actions)
        .def_rw("absolute_gap", &CoreOptions::absolute_gap)
        .def_rw("relative_gap", &CoreOptions::relative_gap)
        .def_rw("most_trace", &CoreOptions::most_trace);
    module.def("solve_core_2016", &solve_core_2016, nb::arg("crgs"), nb::arg("options"),
               nb::arg("monitor"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace coreplan::bindings
