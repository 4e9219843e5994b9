#include "support/monitor.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <string>

#include "bindings/module.hpp"
#include "model/local_graph.hpp"
#include "support/partners.hpp"
#include "support/process_memory.hpp"

namespace coreplan::bindings {

namespace {

const char* reason(Stop stop) {
    switch (stop) {
        case Stop::time_limit:
            return "time_limit";
        case Stop::memory_limit:
            return "memory_limit";
        case Stop::interrupted:
            return "interrupted";
        default:
            return "none";
    }
}

// Exceptions whose `args` are data: what they mean in words is said in Python.
void bind_errors(nb::module_& module) {
    const std::string prefix = nb::cast<std::string>(module.attr("__name__"));
    static PyObject* limit =
        PyErr_NewException((prefix + ".LimitReached").c_str(), nullptr, nullptr);
    static PyObject* no_action =
        PyErr_NewException((prefix + ".NoAction").c_str(), nullptr, nullptr);
    module.attr("LimitReached") = nb::handle(limit);
    module.attr("NoAction") = nb::handle(no_action);
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const LimitReached& e) {
            PyErr_SetObject(limit, nb::make_tuple(reason(e.stop), e.what()).ptr());
        } catch (const NoAction& e) {
            PyErr_SetObject(no_action, nb::make_tuple(at(e.agent), at(e.state), e.stage).ptr());
        }
    });
}

Monitor::Watcher watch_with(const nb::callable& watcher) {
    return [watcher](const Progress& progress) {
        const nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        return nb::cast<Stop>(watcher(progress));
    };
}

// A clock of Python. Threads of the core copy and ask it without holding the interpreter.
Monitor::Clock clock_of(const nb::object& clock) {
    if (clock.is_none()) return Monitor::steady_seconds;
    const std::shared_ptr<nb::object> shared(new nb::object(clock), [](const nb::object* last) {
        const nb::gil_scoped_acquire gil;
        delete last;
    });
    return [shared] {
        const nb::gil_scoped_acquire gil;
        return nb::cast<double>((*shared)());
    };
}

// Partners whose parcels an object of Python carries: see coreplan/solving/partners.py.
class CarriedPartners : public Partners {
public:
    explicit CarriedPartners(nb::object carrier) : carrier_(std::move(carrier)) {}
    ~CarriedPartners() override {
        const nb::gil_scoped_acquire gil;
        carrier_.reset();
    }
    CarriedPartners(const CarriedPartners&) = delete;
    CarriedPartners& operator=(const CarriedPartners&) = delete;

    [[nodiscard]] std::size_t count() const override { return asked<std::size_t>("count"); }
    [[nodiscard]] std::size_t self() const override { return asked<std::size_t>("place"); }
    [[nodiscard]] double least_work() const override {
        return asked<double>("least_work") * cost::kUnitsPerSecond;
    }

    std::optional<std::vector<std::optional<std::string>>> exchange(const SharedRound& round,
                                                                    std::string mine,
                                                                    Monitor& monitor) override {
        const nb::gil_scoped_acquire gil;
        nb::list work;
        for (const double each : round.work) work.append(each / cost::kUnitsPerSecond);
        carrier_.attr("give")(round.course, work, nb::bytes(mine.data(), mine.size()));
        mine.clear();
        for (;;) {
            const nb::object told = carrier_.attr("collect")(kWait);
            if (!told.is_none()) {
                std::vector<std::optional<std::string>> parcels;
                for (const nb::handle each : told) {
                    auto& parcel = parcels.emplace_back();
                    if (each.is_none()) continue;
                    const auto bytes = nb::cast<nb::bytes>(each);
                    parcel.emplace(bytes.c_str(), bytes.size());
                }
                return parcels;
            }
            const nb::gil_scoped_release others;
            if (monitor.look()) return std::nullopt;
        }
    }

private:
    static constexpr double kWait = 0.05;  // seconds between two looks at the limits

    template <typename T>
    [[nodiscard]] T asked(const char* what) const {
        const nb::gil_scoped_acquire gil;
        return nb::cast<T>(carrier_.attr(what));
    }

    nb::object carrier_;
};

}  // namespace

void bind_monitor(nb::module_& module) {
    bind_errors(module);
    prepare_thread();
    module.def("share_one_heap", &share_one_heap);
    module.def("return_freed_memory", &return_freed_memory);
    nb::enum_<Stop>(module, "Stop")
        .value("none", Stop::none)
        .value("time_limit", Stop::time_limit)
        .value("memory_limit", Stop::memory_limit)
        .value("interrupted", Stop::interrupted);
    nb::class_<Progress>(module, "Progress")
        .def_ro("seconds", &Progress::seconds)
        .def_ro("lower", &Progress::lower)
        .def_ro("upper", &Progress::upper)
        .def_ro("states_expanded", &Progress::states_expanded)
        .def_ro("actions_evaluated", &Progress::actions_evaluated);
    nb::class_<Monitor>(module, "Monitor")
        .def(
            "__init__",
            [](Monitor* self, double time_limit, double memory_limit, const nb::callable& watcher,
               const nb::object& clock) {
                new (self) Monitor(time_limit, memory_limit, watch_with(watcher), clock_of(clock));
            },
            nb::arg("time_limit"), nb::arg("memory_limit"), nb::arg("watcher"),
            nb::arg("clock").none() = nb::none(),
            nb::sig("def __init__(self, time_limit: float, memory_limit: float, "
                    "watcher: collections.abc.Callable[[Progress], Stop], "
                    "clock: collections.abc.Callable[[], float] | None = None) -> None"))
        .def_ro("progress", &Monitor::progress)
        .def_prop_ro("stop", &Monitor::stop)
        .def("look", &Monitor::look)
        .def_prop_ro("work", &Monitor::work)
        .def("set_time_limit", &Monitor::set_time_limit, nb::arg("seconds"))
        .def(
            "set_partners",
            [](Monitor& self, const nb::object& carrier) {
                self.set_partners(carrier.is_none() ? nullptr
                                                    : std::make_shared<CarriedPartners>(carrier));
            },
            nb::arg("carrier").none())
        .def("halt", &Monitor::halt, nb::arg("why"))
        .def("reserve", &Monitor::reserve, nb::arg("bytes"), nb::arg("what"))
        .def_prop_ro("reserved", &Monitor::reserved)
        .def_prop_ro("memory_limit", &Monitor::memory_limit)
        .def_prop_ro("memory_left", [](const Monitor& self) {
            return std::max(0.0, self.memory_limit() - self.used());
        });
}

}  // namespace coreplan::bindings
