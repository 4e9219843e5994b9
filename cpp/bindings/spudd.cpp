#include "baselines/spudd.hpp"

#include <nanobind/stl/vector.h>

#include "baselines/spudd_reference.hpp"
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

    nb::class_<FactoredAgent>(module, "FactoredAgent")
        .def(
            "__init__",
            [](FactoredAgent* self, std::vector<Index> sizes, std::vector<Index> values,
               std::vector<Index> command_of, Index command_count) {
                new (self) FactoredAgent{std::move(sizes), std::move(values), std::move(command_of),
                                         command_count};
            },
            nb::arg("sizes"), nb::arg("values"), nb::arg("command_of"), nb::arg("command_count"));
    nb::class_<SpuddReferenceResult, JointResult>(module, "SpuddReferenceResult")
        .def_ro("sweeps", &SpuddReferenceResult::sweeps)
        .def_ro("joint_actions", &SpuddReferenceResult::joint_actions)
        .def_ro("backups", &SpuddReferenceResult::backups)
        .def_ro("model_nodes", &SpuddReferenceResult::model_nodes)
        .def_ro("value_nodes", &SpuddReferenceResult::value_nodes)
        .def_ro("peak_nodes", &SpuddReferenceResult::peak_nodes)
        .def_ro("collections", &SpuddReferenceResult::collections)
        .def_ro("variables", &SpuddReferenceResult::variables);
    module.def(
        "solve_spudd_reference",
        [](const Description& description, const LocalGraphs& graphs, const CompiledModel& model,
           const std::vector<FactoredAgent>& factored, Monitor& monitor) {
            return solve_spudd_reference(description, graphs, model, factored,
                                         SpuddOptions{}.most_table_states, monitor);
        },
        nb::arg("description"), nb::arg("graphs"), nb::arg("model"), nb::arg("factored"),
        nb::arg("monitor"), nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace coreplan::bindings
