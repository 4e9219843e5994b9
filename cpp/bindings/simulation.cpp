#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "simulation/simulator.hpp"

namespace coreplan::bindings {

namespace {

template <class T>
using Given = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> copy(const Given<T>& given) {
    return {given.data(), given.data() + given.size()};
}

// What a simulator is made of, until it is made.
struct SimulatedProblem {
    Index stages = 0;
    std::size_t sums = 0;
    std::vector<SimulatedAgent> agents;
    std::vector<std::vector<AgentId>> parts;
    std::vector<RewardTable> tables;
};

std::vector<AgentId> as_agents(const std::vector<Index>& numbers) {
    std::vector<AgentId> agents;
    for (const Index each : numbers) agents.push_back(AgentId{each});
    return agents;
}

void add_agent(SimulatedProblem& self, Index start, const Given<Index>& outcome_begin,
               const Given<Index>& outcome_next, const Given<double>& outcome_probability,
               const Given<Index>& outcome_event, Index event_count) {
    self.agents.push_back({start, copy(outcome_begin), copy(outcome_next),
                           copy(outcome_probability), copy(outcome_event), event_count});
}

void add_table(SimulatedProblem& self, const std::vector<Index>& members,
               const std::vector<Given<Index>>& classes, std::vector<Index> class_count,
               CellKind kind, std::size_t sum, std::vector<Index> variant_at,
               const Given<double>& values) {
    RewardTable& table = self.tables.emplace_back();
    table.members = as_agents(members);
    for (const Given<Index>& each : classes) table.classes.push_back(copy(each));
    table.class_count = std::move(class_count);
    table.kind = kind;
    table.sum = sum;
    table.variant_at = std::move(variant_at);
    table.values = copy(values);
}

}  // namespace

void bind_simulation(nb::module_& module) {
    module.attr("NO_EVENT") = kNoEvent;
    module.attr("NOTHING") = kNothing;
    nb::enum_<CellKind>(module, "CellKind")
        .value("combination", CellKind::combination)
        .value("all", CellKind::all)
        .value("sum", CellKind::sum);
    nb::class_<SimulatedProblem>(module, "SimulatedProblem")
        .def(
            "__init__",
            [](SimulatedProblem* self, Index stages, std::size_t sums) {
                new (self) SimulatedProblem{stages, sums, {}, {}, {}};
            },
            nb::arg("stages"), nb::arg("sums"))
        .def("add_agent", &add_agent, nb::arg("start"), nb::arg("outcome_begin"),
             nb::arg("outcome_next"), nb::arg("outcome_probability"), nb::arg("outcome_event"),
             nb::arg("event_count"))
        .def(
            "add_part",
            [](SimulatedProblem& self, const std::vector<Index>& agents) {
                self.parts.push_back(as_agents(agents));
            },
            nb::arg("agents"))
        .def("add_table", &add_table, nb::arg("members"), nb::arg("classes"),
             nb::arg("class_count"), nb::arg("kind"), nb::arg("sum"), nb::arg("variant_at"),
             nb::arg("values"));
    nb::class_<Simulator>(module, "Simulator")
        .def(
            "__init__",
            [](Simulator* self, const SimulatedProblem& problem, std::uint64_t key,
               std::uint64_t other_key, Monitor& monitor) {
                new (self) Simulator(problem.stages, problem.sums, problem.agents, problem.parts,
                                     problem.tables, {key, other_key}, monitor);
            },
            nb::arg("problem"), nb::arg("key"), nb::arg("other_key"), nb::arg("monitor"),
            nb::keep_alive<1, 5>())
        .def_prop_ro_static("block", [](nb::handle) { return Simulator::kBlock; })
        .def("begin", &Simulator::begin, nb::arg("runs"), nb::arg("size") = Simulator::kBlock)
        .def("advance", &Simulator::advance, nb::arg("threads"),
             nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("question_count",
                     [](const Simulator& self) { return self.questions().size(); })
        // (stage from the first, part, states of the part's agents row by row)
        .def(
            "question",
            [](const Simulator& self, std::size_t number) {
                const Question& question = self.questions().at(number);
                return nb::make_tuple(question.stage, question.part, to_numpy(question.states));
            },
            nb::arg("number"),
            nb::sig("def question(self, number: int) -> tuple[int, int, "
                    "numpy.typing.NDArray[numpy.uint32]]"))
        .def(
            "answer",
            [](Simulator& self, std::size_t number, const Given<Index>& choices) {
                self.answer(number, copy(choices));
            },
            nb::arg("number"), nb::arg("choices"))
        .def_prop_ro("runs", &Simulator::runs)
        .def("totals", [](const Simulator& self) { return to_numpy(self.totals()); })
        // Per sum: its mean over the runs, and the sum of squared distances from it.
        .def("means",
             [](const Simulator& self) {
                 std::vector<double> means;
                 for (const Moments& each : self.moments()) means.push_back(each.mean);
                 return to_numpy(std::move(means));
             })
        .def("squares",
             [](const Simulator& self) {
                 std::vector<double> squares;
                 for (const Moments& each : self.moments()) squares.push_back(each.squares);
                 return to_numpy(std::move(squares));
             })
        .def(
            "seen",
            [](const Simulator& self, std::size_t table) { return to_numpy(self.seen(table)); },
            nb::arg("table"))
        .def(
            "events",
            [](const Simulator& self, std::size_t agent) { return to_numpy(self.events(agent)); },
            nb::arg("agent"))
        .def_prop_ro("decision_bytes", &Simulator::decision_bytes)
        .def("forget", &Simulator::forget);
}

}  // namespace coreplan::bindings
