#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/module.hpp"
#include "policies/improve.hpp"

namespace coreplan::bindings {

namespace {

using Rows = nb::ndarray<nb::numpy, const Index, nb::ndim<2>>;

// A copy for numpy, so that it outlives the policy.
Rows rows(const std::vector<Index>& values, std::size_t width) {
    const std::size_t count = width == 0 ? 0 : values.size() / width;
    auto owned = std::make_unique<std::vector<Index>>(values);
    Index* data = owned->data();
    nb::capsule owner(owned.release(),
                      [](void* p) noexcept { delete static_cast<std::vector<Index>*>(p); });
    return Rows(data, {count, width}, owner);
}

}  // namespace

void bind_policies(nb::module_& module) {
    nb::class_<Cluster>(module, "Cluster")
        .def_prop_ro("agents",
                     [](const Cluster& self) {
                         std::vector<Index> agents;
                         for (const AgentId who : self.agents) {
                             agents.push_back(static_cast<Index>(at(who)));
                         }
                         return agents;
                     })
        .def_prop_ro(
            "layer", [](const Cluster& self) { return to_numpy(self.table.layer); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "classes",
            [](const Cluster& self) { return rows(self.table.classes, self.agents.size()); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "actions",
            [](const Cluster& self) { return rows(self.table.actions, self.agents.size()); },
            nb::rv_policy::automatic);
    nb::class_<TeamPolicy>(module, "TeamPolicy")
        .def_ro("clusters", &TeamPolicy::clusters)
        .def("local", [](const TeamPolicy& self, std::size_t agent) {
            return to_numpy(self.otherwise.action.at(agent));
        });
    nb::class_<PolicySearch>(module, "PolicySearch")
        .def(
            "__init__",
            [](PolicySearch* self, const CompiledModel& model, std::uint64_t seed,
               std::size_t bases, std::size_t most_states, std::size_t joint_agents,
               unsigned threads, Monitor& monitor) {
                new (self)
                    PolicySearch(model, {seed, bases, most_states, joint_agents, threads}, monitor);
            },
            nb::arg("model"), nb::arg("seed"), nb::arg("bases"), nb::arg("most_states"),
            nb::arg("joint_agents"), nb::arg("threads"), nb::arg("monitor"), nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 8>(), nb::call_guard<nb::gil_scoped_release>())
        .def("improve", &PolicySearch::improve, nb::arg("budget"),
             nb::arg("moves") = TeamSearch::kNoEnd, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "start",
            [](PolicySearch& self, std::vector<std::vector<Index>> actions) {
                return self.start({std::move(actions)});
            },
            nb::arg("actions"), nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("exhausted", &PolicySearch::exhausted)
        .def_prop_ro("value", &PolicySearch::value)
        .def_prop_ro("exact", &PolicySearch::exact)
        .def("policy", &PolicySearch::policy);
}

}  // namespace coreplan::bindings
