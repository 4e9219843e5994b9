// What the binding files share: the declarations of their parts, and arrays for numpy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

namespace coreplan::bindings {

namespace nb = nanobind;

void bind_monitor(nb::module_& module);
void bind_model(nb::module_& module);
void bind_dp(nb::module_& module);
void bind_spudd(nb::module_& module);
void bind_crg(nb::module_& module);
void bind_core_2016(nb::module_& module);
void bind_engine(nb::module_& module);
void bind_policies(nb::module_& module);
void bind_search(nb::module_& module);
void bind_decentralised(nb::module_& module);
void bind_simulation(nb::module_& module);

template <class T>
using Array = nb::ndarray<nb::numpy, const T, nb::ndim<1>>;

// Hands a vector over to numpy without copying it again.
template <class T>
Array<T> to_numpy(std::vector<T> values) {
    auto owned = std::make_unique<std::vector<T>>(std::move(values));
    T* data = owned->data();
    const std::size_t size = owned->size();
    nb::capsule owner(owned.release(),
                      [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return Array<T>(data, {size}, owner);
}

// Ids as plain numbers.
template <class Id>
Array<std::uint32_t> ids_to_numpy(const std::vector<Id>& ids) {
    std::vector<std::uint32_t> plain;
    plain.reserve(ids.size());
    for (const Id id : ids) plain.push_back(static_cast<std::uint32_t>(id));
    return to_numpy(std::move(plain));
}

}  // namespace coreplan::bindings
