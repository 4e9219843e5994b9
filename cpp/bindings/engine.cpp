#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "bindings/shares.hpp"
#include "engine/components.hpp"
#include "engine/kernel.hpp"
#include "engine/reduction.hpp"
#include "engine/relaxation.hpp"

namespace coreplan::bindings {

namespace {

std::vector<AgentId> ids(const std::vector<Index>& agents) {
    std::vector<AgentId> result;
    for (const Index agent : agents) result.push_back(AgentId{agent});
    return result;
}

}  // namespace

void bind_engine(nb::module_& module) {
    nb::class_<ReductionReport>(module, "ReductionReport")
        .def_ro("rounds", &ReductionReport::rounds)
        .def_ro("actions_settled", &ReductionReport::actions_settled)
        .def_ro("actions_eliminated", &ReductionReport::actions_eliminated)
        .def_ro("interactions_dropped", &ReductionReport::interactions_dropped)
        .def_ro("classes_before", &ReductionReport::classes_before)
        .def_ro("classes_after", &ReductionReport::classes_after)
        .def_ro("joint_before", &ReductionReport::joint_before)
        .def_ro("joint_after", &ReductionReport::joint_after);
    nb::class_<Reduction>(module, "Reduction")
        .def_prop_ro(
            "model", [](const Reduction& self) -> const CompiledModel& { return self.model; },
            nb::rv_policy::reference_internal)
        .def_ro("offset", &Reduction::offset)
        .def("offset_of",
             [](const Reduction& self, std::size_t agent) { return self.offset_of.at(agent); })
        .def_ro("error", &Reduction::error)
        .def_ro("report", &Reduction::report)
        .def("class_of", [](const Reduction& self,
                            std::size_t agent) { return to_numpy(self.class_of.at(agent)); })
        .def("action_begin",
             [](const Reduction& self, std::size_t agent) {
                 return to_numpy(self.action_begin.at(agent));
             })
        .def("action_of", [](const Reduction& self, std::size_t agent) {
            return to_numpy(self.action_of.at(agent));
        });
    module.def(
        "reduce",
        [](const CompiledModel& model, bool shape, bool drop, bool settle, bool eliminate,
           bool merge, Monitor& monitor) {
            return reduce(model, {shape, drop, settle, eliminate, merge}, monitor);
        },
        nb::arg("model"), nb::arg("shape"), nb::arg("drop"), nb::arg("settle"),
        nb::arg("eliminate"), nb::arg("merge"), nb::arg("monitor"),
        nb::call_guard<nb::gil_scoped_release>());

    module.def("components", [](const CompiledModel& model) {
        std::vector<std::vector<Index>> groups;
        for (const auto& group : components(model)) {
            auto& plain = groups.emplace_back();
            for (const AgentId agent : group) plain.push_back(static_cast<Index>(at(agent)));
        }
        return groups;
    });
    module.def(
        "restrict_to",
        [](const CompiledModel& model, const std::vector<Index>& agents) {
            return restrict_to(model, ids(agents));
        },
        nb::arg("model"), nb::arg("agents"));

    nb::class_<TeamSolution>(module, "TeamSolution")
        .def_ro("stop", &TeamSolution::stop)
        .def_ro("value", &TeamSolution::value)
        .def_ro("cells", &TeamSolution::cells)
        // Hands over 1 + the number of the best joint action of every joint state, once: there may
        // be no memory for two of it.
        .def("take_rule", [](TeamSolution& self) {
            for (std::uint32_t& each : self.decisions) ++each;
            return to_numpy(std::move(self.decisions));
        });
    module.def(
        "team_cells",
        [](const CompiledModel& model, const std::vector<Index>& agents) {
            return team_cells(model, ids(agents));
        },
        nb::arg("model"), nb::arg("agents"));
    module.attr("UNITS_PER_SECOND") = cost::kUnitsPerSecond;
    module.def(
        "kernel_work",
        [](const CompiledModel& model, const std::vector<Index>& agents) {
            return kernel_work(model, ids(agents));
        },
        nb::arg("model"), nb::arg("agents"));
    module.def(
        "kernel_bytes",
        [](const CompiledModel& model, const std::vector<Index>& agents, bool policy,
           unsigned threads) {
            return kernel_bytes(model, ids(agents), {.policy = policy, .threads = threads});
        },
        nb::arg("model"), nb::arg("agents"), nb::arg("policy"), nb::arg("threads"));
    nb::class_<PreparedTeam>(module, "PreparedTeam")
        .def(
            "__init__",
            [](PreparedTeam* self, const CompiledModel& model, const std::vector<Index>& agents,
               Monitor& monitor) { new (self) PreparedTeam(model, ids(agents), monitor); },
            nb::arg("model"), nb::arg("agents"), nb::arg("monitor"), nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 4>())
        .def(
            "solve",
            [](const PreparedTeam& self, bool policy, unsigned threads, Monitor& monitor) {
                return self.solve({.policy = policy, .threads = threads}, monitor);
            },
            nb::arg("policy"), nb::arg("threads"), nb::arg("monitor"),
            nb::call_guard<nb::gil_scoped_release>());
    module.def(
        "solve_team",
        [](const CompiledModel& model, const std::vector<Index>& agents, bool policy,
           unsigned threads, Monitor& monitor) {
            return solve_team(model, ids(agents), {.policy = policy, .threads = threads}, monitor);
        },
        nb::arg("model"), nb::arg("agents"), nb::arg("policy"), nb::arg("threads"),
        nb::arg("monitor"), nb::call_guard<nb::gil_scoped_release>());

    nb::class_<Relaxation> relaxation(module, "Relaxation");
    relaxation
        .def(
            "__init__",
            [](Relaxation* self, const CompiledModel& model, unsigned threads, std::size_t cuts,
               Monitor& monitor) {
                const nb::gil_scoped_release release;
                new (self) Relaxation(model, {.threads = threads, .most_cuts = cuts}, monitor);
            },
            nb::arg("model"), nb::arg("threads"), nb::arg("cuts"), nb::arg("monitor"),
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 5>())
        .def_static("first_work", &Relaxation::first_work, nb::arg("model"),
                    nb::call_guard<nb::gil_scoped_release>())
        .def("step", &Relaxation::step, nb::arg("lower"), nb::arg("monitor"),
             nb::call_guard<nb::gil_scoped_release>())
        .def("grow", &Relaxation::grow, nb::arg("round"), nb::arg("most_agents"),
             nb::arg("monitor"), nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("upper", &Relaxation::upper)
        .def_prop_ro("error", &Relaxation::error)
        .def_prop_ro("settled", &Relaxation::settled)
        .def_prop_ro("coarse", &Relaxation::coarse)
        .def_prop_ro("rounds", &Relaxation::rounds)
        .def_prop_ro("cells", &Relaxation::cells);
    bind_shares(relaxation);
}

}  // namespace coreplan::bindings
