#include "baselines/dp.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/module.hpp"

namespace coreplan::bindings {

namespace {

// A view of an array that lives as long as the result that owns it.
template <class T>
std::optional<Array<T>> view(const CArray<T>& array, std::uint64_t size, nb::handle owner) {
    if (array == nullptr) return std::nullopt;
    return Array<T>(array.get(), {static_cast<std::size_t>(size)}, owner);
}

}  // namespace

void bind_dp(nb::module_& module) {
    nb::class_<DpResult>(module, "DpResult")
        .def_ro("stop", &DpResult::stop)
        .def_ro("message", &DpResult::message)
        .def_ro("lower", &DpResult::lower)
        .def_ro("upper", &DpResult::upper)
        .def_ro("states_expanded", &DpResult::states_expanded)
        .def_ro("actions_evaluated", &DpResult::actions_evaluated)
        .def("fallback", [](const DpResult& self, std::size_t agent) {
            return to_numpy(self.fallback.action.at(agent));
        })
        .def_prop_ro("actions",
                     [](nb::handle self) {
                         const auto& result = nb::cast<const DpResult&>(self);
                         return view(result.actions, result.state_count, self);
                     })
        .def_prop_ro("values", [](nb::handle self) {
            const auto& result = nb::cast<const DpResult&>(self);
            return view(result.values, result.state_count, self);
        });
    module.def("solve_dp", &solve_dp, nb::arg("model"), nb::arg("monitor"),
               nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace coreplan::bindings
