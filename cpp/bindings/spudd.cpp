#include "baselines/spudd.hpp"

#include "bindings/module.hpp"

namespace coreplan::bindings {

void bind_spudd(nb::module_& module) {
    nb::enum_<VariableOrder>(module, "VariableOrder")
        .value("grouped", VariableOrder::grouped)
        .value("interleaved", VariableOrder::interleaved);
    nb::enum_<ActionMode>(module, "ActionMode")
        .value("diagram", ActionMode::diagram)
        .value("enumerate", ActionMode::enumerate);
    nb::class_<SpuddResult, JointResult>(module, "SpuddResult")
        .def_ro("iterations", &SpuddResult::iterations)
        .def_ro("value_nodes", &SpuddResult::value_nodes)
        .def_ro("peak_nodes", &SpuddResult::peak_nodes)
        .def_ro("collections", &SpuddResult::collections);
    module.def(
        "solve_spudd",
        [](const CompiledModel& model, VariableOrder order, ActionMode actions, Monitor& monitor) {
            SpuddOptions options;
            options.order = order;
            options.actions = actions;
            return solve_spudd(model, options, monitor);
        },
        nb::arg("model"), nb::arg("order"), nb::arg("actions"), nb::arg("monitor"),
        nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace coreplan::bindings
