#include <nanobind/stl/string.h>

#include "bindings/module.hpp"
#include "decentralised/gmaa.hpp"

namespace coreplan::bindings {

void bind_decentralised(nb::module_& module) {
    nb::class_<DecentralisedWork>(module, "DecentralisedWork")
        .def_ro("nodes", &DecentralisedWork::nodes)
        .def_ro("games", &DecentralisedWork::games)
        .def_ro("types", &DecentralisedWork::types)
        .def_ro("joint_types", &DecentralisedWork::joint_types)
        .def_ro("joint_actions", &DecentralisedWork::joint_actions)
        .def_ro("partial_solutions", &DecentralisedWork::partial_solutions)
        .def_ro("best_responses", &DecentralisedWork::best_responses)
        .def_ro("cells", &DecentralisedWork::cells);
    nb::class_<DecentralisedSearch>(module, "DecentralisedSearch")
        .def(nb::init<const CompiledModel&, std::uint64_t, Monitor&>(), nb::arg("model"),
             nb::arg("seed"), nb::arg("monitor"), nb::keep_alive<1, 2>(), nb::keep_alive<1, 4>())
        .def("improve", &DecentralisedSearch::improve, nb::arg("tries"),
             nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("table_bytes", &DecentralisedSearch::table_bytes)
        .def_prop_ro("fits", &DecentralisedSearch::fits)
        .def("prepare", &DecentralisedSearch::prepare, nb::call_guard<nb::gil_scoped_release>())
        .def("run", &DecentralisedSearch::run, nb::arg("tolerance"), nb::arg("work"),
             nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("lower", &DecentralisedSearch::lower)
        .def_prop_ro("upper", &DecentralisedSearch::upper)
        .def_prop_ro("stop", &DecentralisedSearch::stop)
        .def_prop_ro("message", &DecentralisedSearch::message)
        .def_prop_ro("work", &DecentralisedSearch::work)
        .def("action", [](const DecentralisedSearch& self, std::size_t agent) {
            return to_numpy(self.policy().action.at(agent));
        });
}

}  // namespace coreplan::bindings
