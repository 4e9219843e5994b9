#include "baselines/dp.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/module.hpp"

namespace coreplan::bindings {

namespace {

// A view of an array that lives as long as the result that owns it.
template <class T>
std::optional<Array<T>> view(nb::handle owner, CArray<T> JointResult::* member) {
    const auto& result = nb::cast<const JointResult&>(owner);
    const CArray<T>& array = result.*member;
    if (array == nullptr) return std::nullopt;
    return Array<T>(array.get(), {static_cast<std::size_t>(result.state_count)}, owner);
}

}  // namespace

void bind_dp(nb::module_& module) {
    nb::class_<JointResult>(module, "JointResult")
        .def_ro("stop", &JointResult::stop)
        .def_ro("message", &JointResult::message)
        .def_ro("lower", &JointResult::lower)
        .def_ro("upper", &JointResult::upper)
        .def("fallback", [](const JointResult& self,
                            std::size_t agent) { return to_numpy(self.fallback.action.at(agent)); })
        .def_prop_ro("actions", [](nb::handle self) { return view(self, &JointResult::actions); })
        .def_prop_ro("values", [](nb::handle self) { return view(self, &JointResult::values); })
        .def_prop_ro("numbers", [](nb::handle self) { return view(self, &JointResult::numbers); });
    nb::class_<DpResult, JointResult>(module, "DpResult")
        .def_ro("states_expanded", &DpResult::states_expanded)
        .def_ro("actions_evaluated", &DpResult::actions_evaluated);
    module.def("solve_dp", &solve_dp, nb::arg("model"), nb::arg("monitor"),
               nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace coreplan::bindings
