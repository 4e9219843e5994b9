#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/module.hpp"
#include "bounds/independent.hpp"
#include "model/compiled_model.hpp"
#include "model/joint_layout.hpp"
#include "model/remaining_signals.hpp"
#include "model/unit_mass.hpp"
#include "support/reservation.hpp"

namespace coreplan::bindings {

namespace {

using Indices = std::vector<Index>;
using MaybeIndices = std::optional<Indices>;

std::size_t add_agent(Description& self, Index state_count, Index action_count,
                      Indices choice_begin, Indices choice_action, Indices choice_first,
                      Indices choice_last, Indices outcome_begin, Indices outcome_next,
                      std::vector<double> outcome_probability, Index start) {
    self.agents.push_back({state_count,
                           action_count,
                           std::move(choice_begin),
                           std::move(choice_action),
                           std::move(choice_first),
                           std::move(choice_last),
                           std::move(outcome_begin),
                           std::move(outcome_next),
                           std::move(outcome_probability),
                           {}});
    self.start.push_back(StateId{start});
    return self.agents.size() - 1;
}

std::size_t add_condition(Description& self, std::size_t agent, MaybeIndices states,
                          MaybeIndices actions, MaybeIndices nexts) {
    auto& conditions = self.agents.at(agent).conditions;
    conditions.push_back({std::move(states), std::move(actions), std::move(nexts)});
    return conditions.size() - 1;
}

void add_entry(Description& self, const std::vector<std::pair<Index, Index>>& members, double value,
               MaybeIndices stages, Index function) {
    Entry entry;
    for (const auto& [agent, condition] : members) {
        entry.members.push_back({AgentId{agent}, condition});
    }
    entry.value = value;
    entry.stages = std::move(stages);
    entry.function = function;
    self.entries.push_back(std::move(entry));
}

void add_aggregate(Description& self, const std::vector<std::tuple<Index, Index, Index>>& amounts,
                   std::vector<double> values, MaybeIndices stages) {
    Aggregate aggregate{{}, std::move(values), std::move(stages)};
    for (const auto& [agent, condition, units] : amounts) {
        aggregate.amounts.push_back({AgentId{agent}, condition, units});
    }
    self.aggregates.push_back(std::move(aggregate));
}

template <class Agent>
const Agent& agent_of(const std::vector<Agent>& agents, std::size_t agent) {
    return agents.at(agent);
}

}  // namespace

void bind_model(nb::module_& module) {
    nb::class_<Description>(module, "Description")
        .def(
            "__init__",
            [](Description* self, Index horizon, Index first_stage, std::vector<double> weights) {
                new (self) Description;
                self->horizon = horizon;
                self->first_stage = first_stage;
                self->weights = std::move(weights);
            },
            nb::arg("horizon"), nb::arg("first_stage"), nb::arg("weights") = std::vector<double>{})
        .def("add_agent", &add_agent, nb::arg("state_count"), nb::arg("action_count"),
             nb::arg("choice_begin"), nb::arg("choice_action"), nb::arg("choice_first"),
             nb::arg("choice_last"), nb::arg("outcome_begin"), nb::arg("outcome_next"),
             nb::arg("outcome_probability"), nb::arg("start"))
        .def("add_condition", &add_condition, nb::arg("agent"), nb::arg("states").none(),
             nb::arg("actions").none(), nb::arg("nexts").none())
        .def("add_entry", &add_entry, nb::arg("members"), nb::arg("value"),
             nb::arg("stages").none(), nb::arg("function"))
        // Amounts are (agent, condition, units); `values` are by the sum of units.
        .def("add_aggregate", &add_aggregate, nb::arg("amounts"), nb::arg("values"),
             nb::arg("stages").none());

    nb::class_<LocalGraphs>(module, "LocalGraphs")
        .def_ro("first_stage", &LocalGraphs::first_stage)
        .def_ro("horizon", &LocalGraphs::horizon)
        .def("node_count",
             [](const LocalGraphs& self, std::size_t agent) {
                 return agent_of(self.agents, agent).node_count();
             })
        .def("arc_count",
             [](const LocalGraphs& self, std::size_t agent) {
                 return agent_of(self.agents, agent).arc_next.size();
             })
        .def("layer_begin",
             [](const LocalGraphs& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).layer_begin);
             })
        .def("node_state",
             [](const LocalGraphs& self, std::size_t agent) {
                 return ids_to_numpy(agent_of(self.agents, agent).node_state);
             })
        .def("choice_begin",
             [](const LocalGraphs& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).choice_begin);
             })
        .def("choice_base",
             [](const LocalGraphs& self, std::size_t agent) {
                 return ids_to_numpy(agent_of(self.agents, agent).choice_base);
             })
        .def("arc_begin",
             [](const LocalGraphs& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).arc_begin);
             })
        .def("arc_next",
             [](const LocalGraphs& self, std::size_t agent) {
                 return ids_to_numpy(agent_of(self.agents, agent).arc_next);
             })
        .def("arc_probability",
             [](const LocalGraphs& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).arc_probability);
             })
        .def("arc_reward",
             [](const LocalGraphs& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).arc_reward);
             })
        .def("arc_base",
             [](const LocalGraphs& self, std::size_t agent) {
                 return ids_to_numpy(agent_of(self.agents, agent).arc_base);
             })
        .def("interaction_entries",
             [](const LocalGraphs& self) {
                 // (reward function, the agents that the entry looks at)
                 std::vector<std::pair<Index, std::vector<Index>>> entries;
                 for (const Entry& entry : self.rewards.interaction_entries) {
                     auto& [function, agents] = entries.emplace_back();
                     function = entry.function;
                     for (const Member& member : entry.members) {
                         agents.push_back(static_cast<Index>(at(member.agent)));
                     }
                 }
                 return entries;
             })
        .def("constant_at", [](const LocalGraphs& self,
                               Index stage) { return self.rewards.constant.at_stage(stage); })
        .def_prop_ro("interaction_count",
                     [](const LocalGraphs& self) { return self.rewards.interactions.size(); });
    module.def("unroll", &unroll, nb::arg("description"), nb::arg("monitor"),
               nb::call_guard<nb::gil_scoped_release>());

    nb::class_<CompiledModel>(module, "CompiledModel")
        .def_ro("first_stage", &CompiledModel::first_stage)
        .def_ro("horizon", &CompiledModel::horizon)
        .def_ro("unit_mass", &CompiledModel::unit_mass)
        .def_prop_ro("constant", &CompiledModel::constant)
        .def_prop_ro("bytes", &CompiledModel::bytes)
        .def_prop_ro("interaction_count",
                     [](const CompiledModel& self) { return self.interactions.size(); })
        .def_prop_ro("aggregate_count",
                     [](const CompiledModel& self) { return self.aggregates.size(); })
        .def("class_count",
             [](const CompiledModel& self, std::size_t agent) {
                 return agent_of(self.agents, agent).class_count();
             })
        .def("after_count",
             [](const CompiledModel& self, std::size_t agent) {
                 return agent_of(self.agents, agent).after_label.size();
             })
        .def("layer_begin",
             [](const CompiledModel& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).layer_begin);
             })
        .def("action_after",
             [](const CompiledModel& self, std::size_t agent) {
                 return ids_to_numpy(agent_of(self.agents, agent).action_after);
             })
        // Per after-state: where its outcomes begin; per outcome: the class that it leads to.
        .def("outcome_begin",
             [](const CompiledModel& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).outcome_begin);
             })
        .def("outcome_next",
             [](const CompiledModel& self, std::size_t agent) {
                 return ids_to_numpy(agent_of(self.agents, agent).outcome_next);
             })
        .def("after_layer_begin",
             [](const CompiledModel& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).after_layer_begin);
             })
        .def("action_begin",
             [](const CompiledModel& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).action_begin);
             })
        .def("action_reward",
             [](const CompiledModel& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).action_reward);
             })
        .def("outcome_probability",
             [](const CompiledModel& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).outcome_probability);
             })
        // What interactions see of after-states: (signal, chance) pairs, one row per after-state.
        .def("factors",
             [](const CompiledModel& self, std::size_t agent) {
                 const CompiledAgent& one = agent_of(self.agents, agent);
                 std::vector<Index> begin{0};
                 std::vector<Index> signals;
                 std::vector<double> chances;
                 for (const LabelId id : one.after_label) {
                     const std::size_t label = at(id);
                     for (Index f = one.label_begin[label]; f < one.label_begin[label + 1]; ++f) {
                         signals.push_back(static_cast<Index>(at(one.label_factor[f].signal)));
                         chances.push_back(one.label_factor[f].chance);
                     }
                     begin.push_back(static_cast<Index>(signals.size()));
                 }
                 return std::tuple(to_numpy(std::move(begin)), to_numpy(std::move(signals)),
                                   to_numpy(std::move(chances)));
             })
        .def("constant_at", [](const CompiledModel& self) { return to_numpy(self.constant_at); })
        // Per interaction: (agent, signal) of its members, and (stage, value) where it can happen.
        .def("interactions",
             [](const CompiledModel& self) {
                 using Pairs = std::vector<std::pair<Index, Index>>;
                 std::vector<std::pair<Pairs, std::vector<std::pair<Index, double>>>> listed;
                 for (const CompiledInteraction& each : self.interactions) {
                     Pairs members;
                     for (const InteractionMember& member : each.members) {
                         members.emplace_back(static_cast<Index>(at(member.agent)),
                                              static_cast<Index>(at(member.signal)));
                     }
                     listed.emplace_back(std::move(members), each.values);
                 }
                 return listed;
             })
        // Per aggregate: its members with the units of their signals, the layers at which it
        // counts, the number of sums, and values by the sum: one table for all layers, or for each.
        .def("aggregates",
             [](const CompiledModel& self) {
                 using Units = std::vector<std::pair<Index, Index>>;
                 using Members = std::vector<std::pair<Index, Units>>;
                 std::vector<
                     std::tuple<Members, std::vector<Index>, std::size_t, std::vector<double>>>
                     listed;
                 for (const CompiledAggregate& each : self.aggregates) {
                     Members members;
                     for (const AggregateMember& member : each.members) {
                         Units units;
                         for (const auto& [signal, amount] : member.units) {
                             units.emplace_back(static_cast<Index>(at(signal)), amount);
                         }
                         members.emplace_back(static_cast<Index>(at(member.agent)),
                                              std::move(units));
                     }
                     listed.emplace_back(std::move(members), each.layers, each.sums, each.values);
                 }
                 return listed;
             })
        .def("node_class",
             [](const CompiledModel& self, std::size_t agent) {
                 return ids_to_numpy(agent_of(self.agents, agent).node_class);
             })
        .def("node_choice_begin",
             [](const CompiledModel& self, std::size_t agent) {
                 return to_numpy(agent_of(self.agents, agent).node_choice_begin);
             })
        .def("node_choice",
             [](const CompiledModel& self, std::size_t agent) {
                 return ids_to_numpy(agent_of(self.agents, agent).node_choice);
             })
        .def_prop_ro("joint_state_count",
                     [](const CompiledModel& self) { return JointLayout(self).state_count(); })
        .def("remaining_signal_counts",
             [](const CompiledModel& self, std::size_t agent, Monitor& monitor) {
                 const Lease lease(monitor);
                 const SignalRuns runs = remaining_signals(self, as<AgentId>(agent), monitor);
                 std::vector<Index> counts;
                 for (const Index list : runs.list_of_class) {
                     counts.push_back(runs.list_begin[list + 1] - runs.list_begin[list]);
                 }
                 return to_numpy(std::move(counts));
             });
    nb::class_<IndependentBounds>(module, "IndependentBounds")
        .def_ro("lower", &IndependentBounds::lower)
        .def_ro("upper", &IndependentBounds::upper)
        .def("action", [](const IndependentBounds& self, std::size_t agent) {
            return to_numpy(agent_of(self.policy.action, agent));
        });
    module.def("independent_bounds", &independent_bounds, nb::arg("model"), nb::arg("monitor"),
               nb::call_guard<nb::gil_scoped_release>());
    module.def(
        "value_of",
        [](const CompiledModel& model, std::vector<std::vector<Index>> actions, Monitor& monitor) {
            return value_of(model, {std::move(actions)}, monitor);
        },
        nb::arg("model"), nb::arg("actions"), nb::arg("monitor"),
        nb::call_guard<nb::gil_scoped_release>());
    module.def("mass_error", &mass_error, nb::arg("model"));
    module.def(
        "compile",
        [](const LocalGraphs& graphs, bool merge, Monitor& monitor,
           const std::vector<Leaning>& leanings) {
            return compile(graphs, merge, monitor, leanings);
        },
        nb::arg("graphs"), nb::arg("merge"), nb::arg("monitor"),
        nb::arg("leanings") = std::vector<Leaning>{}, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace coreplan::bindings
