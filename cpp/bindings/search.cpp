#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "bindings/shares.hpp"
#include "policies/improve.hpp"
#include "search/group_search.hpp"

namespace coreplan::bindings {

namespace {

std::vector<Index> plain(const std::vector<AgentId>& agents) {
    std::vector<Index> numbers;
    for (const AgentId agent : agents) numbers.push_back(static_cast<Index>(at(agent)));
    return numbers;
}

}  // namespace

void bind_search(nb::module_& module) {
    using Rows = GroupDecisions::Rows;
    nb::class_<Rows>(module, "GroupRows")
        .def_prop_ro("agents", [](const Rows& self) { return plain(self.agents); })
        .def_prop_ro(
            "layer", [](const Rows& self) { return to_numpy(self.layer); },
            nb::rv_policy::automatic)
        // Rows of one number per agent, one after the other.
        .def_prop_ro(
            "classes", [](const Rows& self) { return to_numpy(self.classes); },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "actions", [](const Rows& self) { return to_numpy(self.actions); },
            nb::rv_policy::automatic);
    nb::class_<GroupDecisions>(module, "GroupDecisions")
        .def_ro("groups", &GroupDecisions::groups)
        .def_ro("value", &GroupDecisions::value)
        .def_ro("states", &GroupDecisions::states)
        .def_ro("whole", &GroupDecisions::whole)
        .def_ro("sound", &GroupDecisions::sound);
    nb::class_<SearchProof::Rows>(module, "ProofRows")
        .def_prop_ro("agents", [](const SearchProof::Rows& self) { return plain(self.agents); })
        .def_prop_ro(
            "layer", [](const SearchProof::Rows& self) { return to_numpy(self.layer); },
            nb::rv_policy::automatic)
        // Rows of one number per agent: a class of the model or, where the outcome is not revealed,
        // 2^31 + an after-state of the layer before.
        .def_prop_ro(
            "where",
            [](const SearchProof::Rows& self) {
                std::vector<Index> codes;
                for (const Status each : self.where) codes.push_back(each.code());
                return to_numpy(std::move(codes));
            },
            nb::rv_policy::automatic)
        .def_prop_ro(
            "upper", [](const SearchProof::Rows& self) { return to_numpy(self.upper); },
            nb::rv_policy::automatic);
    nb::class_<SearchProof>(module, "SearchProof")
        .def_ro("groups", &SearchProof::groups)
        .def_prop_ro("solved", [](const SearchProof& self) {
            std::vector<std::vector<Index>> solved;
            for (const auto& agents : self.solved) solved.push_back(plain(agents));
            return solved;
        });
    nb::class_<RelaxationBound> bound(module, "RelaxationBound");
    bind_shares(bound);
    nb::class_<GroupSearch>(module, "GroupSearch")
        .def(
            "__init__",
            [](GroupSearch* self, const CompiledModel& model, const Relaxation& relaxation,
               const PolicySearch& policies, std::size_t bases, unsigned threads, double most_bytes,
               bool deterministic, std::uint64_t actions_per_line, std::size_t most_lines,
               bool split, bool skip, bool floors, bool tables, Monitor& monitor) {
                const nb::gil_scoped_release release;
                const std::vector<LocalPolicy> found = policies.bases(bases);
                new (self) GroupSearch(model, relaxation, found,
                                       {threads, most_bytes, deterministic, actions_per_line,
                                        most_lines, split, skip, floors, tables},
                                       monitor);
            },
            nb::arg("model"), nb::arg("relaxation"), nb::arg("policies"), nb::arg("bases"),
            nb::arg("threads"), nb::arg("most_bytes"), nb::arg("deterministic"),
            nb::arg("actions_per_line"), nb::arg("most_lines"), nb::arg("split"), nb::arg("skip"),
            nb::arg("floors"), nb::arg("tables"), nb::arg("monitor"), nb::keep_alive<1, 2>(),
            nb::keep_alive<1, 3>(), nb::keep_alive<1, 15>())
        .def("run", &GroupSearch::run, nb::arg("budget"), nb::arg("tolerance"), nb::arg("monitor"),
             nb::call_guard<nb::gil_scoped_release>())
        .def("adopt", &GroupSearch::adopt, nb::arg("relaxation"), nb::arg("monitor"),
             nb::call_guard<nb::gil_scoped_release>())
        .def_static(
            "table_bytes",
            [](const CompiledModel& model, const Relaxation& relaxation) {
                return RelaxationBound::bytes(relaxation, model);
            },
            nb::arg("model"), nb::arg("relaxation"))
        .def_prop_ro("lower", &GroupSearch::lower)
        .def_prop_ro("upper", &GroupSearch::upper)
        .def_prop_ro("full", &GroupSearch::full)
        .def("proof", &GroupSearch::proof, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("bound", &GroupSearch::bound, nb::rv_policy::reference_internal)
        .def_prop_ro("expanded", &GroupSearch::expanded)
        .def_prop_ro("actions", &GroupSearch::actions)
        .def_prop_ro("records", &GroupSearch::records)
        .def(
            "usual",
            [](const GroupSearch& self, std::size_t agent) {
                return to_numpy(self.usual().action.at(agent));
            },
            nb::arg("agent"))
        .def("decisions", &GroupSearch::decisions, nb::arg("most_states"), nb::arg("least"),
             nb::arg("monitor"), nb::call_guard<nb::gil_scoped_release>())
        // What agents can still take part in: per class the number of its list, and the lists.
        .def(
            "list_of",
            [](const GroupSearch& self, std::size_t agent) {
                return to_numpy(self.couplings().lists_of_classes(as<AgentId>(agent)));
            },
            nb::arg("agent"))
        .def(
            "list_begin",
            [](const GroupSearch& self, std::size_t agent) {
                std::vector<Index> begin{0};
                for (Index l = 0; l < self.couplings().list_count(as<AgentId>(agent)); ++l) {
                    begin.push_back(
                        begin.back() +
                        static_cast<Index>(self.couplings().runs(as<AgentId>(agent), l).size()));
                }
                return to_numpy(std::move(begin));
            },
            nb::arg("agent"))
        .def(
            "runs",
            [](const GroupSearch& self, std::size_t agent) {
                std::vector<Index> numbers;
                for (Index l = 0; l < self.couplings().list_count(as<AgentId>(agent)); ++l) {
                    for (const SignalRun& run : self.couplings().runs(as<AgentId>(agent), l)) {
                        numbers.push_back(static_cast<Index>(at(run.signal)));
                        numbers.push_back(run.first);
                        numbers.push_back(run.last);
                    }
                }
                return to_numpy(std::move(numbers));
            },
            nb::arg("agent"))
        // Interactions that can happen: (agent, signal) pairs, and stages. Two agents that can
        // add to an aggregate count as one for each pair of signals.
        .def("events", [](const GroupSearch& self) {
            std::vector<std::pair<std::vector<std::pair<Index, Index>>, std::vector<Index>>> events;
            for (const Couplings::Bond& bond : self.couplings().bonds()) {
                for (const Index e : bond.interactions) {
                    const CompiledInteraction& interaction = self.model().interactions[e];
                    auto& event = events.emplace_back();
                    for (const InteractionMember& member : interaction.members) {
                        event.first.emplace_back(static_cast<Index>(at(member.agent)),
                                                 static_cast<Index>(at(member.signal)));
                    }
                    for (const auto& [stage, value] : interaction.values)
                        event.second.push_back(stage);
                }
                for (const Index e : bond.aggregates) {
                    const CompiledAggregate& aggregate = self.model().aggregates[e];
                    std::vector<Index> stages;
                    for (const Index layer : aggregate.layers) {
                        stages.push_back(self.model().first_stage + layer);
                    }
                    const auto signals = [&](AgentId who) -> const auto& {
                        return std::ranges::find(aggregate.members, who, &AggregateMember::agent)
                            ->units;
                    };
                    for (const auto& [first, units] : signals(bond.agents[0])) {
                        for (const auto& [second, more] : signals(bond.agents[1])) {
                            auto& event = events.emplace_back();
                            event.first = {{static_cast<Index>(at(bond.agents[0])),
                                            static_cast<Index>(at(first))},
                                           {static_cast<Index>(at(bond.agents[1])),
                                            static_cast<Index>(at(second))}};
                            event.second = stages;
                        }
                    }
                }
            }
            return events;
        });
}

}  // namespace coreplan::bindings
