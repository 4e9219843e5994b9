#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/module.hpp"
#include "model/model_arrays.hpp"
#include "policies/improve.hpp"
#include "policies/lookahead.hpp"

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

template <class T>
using Given = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
std::vector<T> copy(const Given<T>& given) {
    return {given.data(), given.data() + given.size()};
}

// A cluster: its agents; layers, classes and actions of its table, the latter two row by row.
using GivenCluster = std::tuple<std::vector<Index>, Given<Index>, Given<Index>, Given<Index>>;

TeamPolicy make_policy(const std::vector<Given<Index>>& local,
                       const std::vector<GivenCluster>& clusters) {
    TeamPolicy policy;
    for (const Given<Index>& each : local) policy.otherwise.action.push_back(copy(each));
    for (const auto& [agents, layer, classes, actions] : clusters) {
        Cluster& cluster = policy.clusters.emplace_back();
        for (const Index i : agents) cluster.agents.push_back(AgentId{i});
        cluster.table = {copy(layer), copy(classes), copy(actions)};
    }
    return policy;
}

std::vector<ClassId> as_classes(const CompiledModel& model, Index layer,
                                const Given<Index>& numbers) {
    if (layer >= model.layer_count() || numbers.size() != model.agents.size()) {
        throw std::invalid_argument("this is no joint state of the team");
    }
    std::vector<ClassId> classes;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const CompiledAgent& agent = model.agents[i];
        if (numbers.data()[i] >= agent.layer_size(layer)) {
            throw std::invalid_argument("there is no such class");
        }
        classes.push_back(ClassId{agent.layer_begin[layer] + numbers.data()[i]});
    }
    return classes;
}

// A model in the making.
struct ModelParts {
    Index first_stage = 0;
    Index horizon = 0;
    std::vector<AgentArrays> agents;
    std::vector<InteractionArrays> interactions;
};

// A lookahead with the model that it goes by.
class OwnLookahead {
public:
    OwnLookahead(const CompiledModel& model, const std::vector<TeamPolicy>& policies,
                 Monitor& monitor)
        : model_(model), lookahead_(model_, policies, monitor) {}

    [[nodiscard]] const CompiledModel& model() const { return model_; }
    [[nodiscard]] const Lookahead& operator*() const { return lookahead_; }

private:
    const CompiledModel& model_;
    Lookahead lookahead_;
};

void bind_lookahead(nb::module_& module) {
    nb::class_<ModelParts>(module, "ModelParts")
        .def(
            "__init__",
            [](ModelParts* self, Index first_stage, Index horizon) {
                new (self) ModelParts{first_stage, horizon, {}, {}};
            },
            nb::arg("first_stage"), nb::arg("horizon"))
        .def(
            "add_agent",
            [](ModelParts& self, const Given<Index>& layer_begin, const Given<Index>& action_begin,
               const Given<double>& action_reward, const Given<Index>& action_after,
               const Given<Index>& after_layer_begin, const Given<Index>& outcome_begin,
               const Given<Index>& outcome_next, const Given<double>& outcome_probability,
               const Given<Index>& factor_begin, const Given<Index>& factor_signal,
               const Given<double>& factor_chance) {
                self.agents.push_back({copy(layer_begin), copy(action_begin), copy(action_reward),
                                       copy(action_after), copy(after_layer_begin),
                                       copy(outcome_begin), copy(outcome_next),
                                       copy(outcome_probability), copy(factor_begin),
                                       copy(factor_signal), copy(factor_chance)});
            },
            nb::arg("layer_begin"), nb::arg("action_begin"), nb::arg("action_reward"),
            nb::arg("action_after"), nb::arg("after_layer_begin"), nb::arg("outcome_begin"),
            nb::arg("outcome_next"), nb::arg("outcome_probability"), nb::arg("factor_begin"),
            nb::arg("factor_signal"), nb::arg("factor_chance"))
        .def(
            "add_interaction",
            [](ModelParts& self, std::vector<std::pair<Index, Index>> members,
               std::vector<std::pair<Index, double>> values) {
                self.interactions.push_back({std::move(members), std::move(values)});
            },
            nb::arg("members"), nb::arg("values"))
        .def("make", [](const ModelParts& self) {
            return model_of_arrays(self.first_stage, self.horizon, self.agents, self.interactions);
        });
    nb::class_<OwnLookahead>(module, "Lookahead")
        .def(nb::init<const CompiledModel&, const std::vector<TeamPolicy>&, Monitor&>(),
             nb::arg("model"), nb::arg("policies"), nb::arg("monitor"), nb::keep_alive<1, 2>(),
             nb::keep_alive<1, 4>(), nb::call_guard<nb::gil_scoped_release>())
        .def_static(
            "applies",
            [](const CompiledModel& model, const std::vector<TeamPolicy>& policies) {
                return Lookahead::applies(model, policies);
            },
            nb::arg("model"), nb::arg("policies"))
        // What a base is worth from a joint state on, without constants.
        .def(
            "value",
            [](const OwnLookahead& self, std::size_t base, Index layer,
               const Given<Index>& classes) {
                if (base >= (*self).base_count()) throw std::invalid_argument("no such base");
                return (*self).value(base, layer, as_classes(self.model(), layer, classes));
            },
            nb::arg("base"), nb::arg("layer"), nb::arg("classes"))
        // Positions of actions, for rows of classes within a layer.
        .def(
            "act",
            [](const OwnLookahead& self, Index layer, const Given<Index>& classes, unsigned threads,
               Monitor& monitor) {
                std::vector<Index> positions;
                {
                    const nb::gil_scoped_release release;
                    positions =
                        (*self).act(layer, {classes.data(), classes.size()}, threads, monitor);
                }
                return to_numpy(std::move(positions));
            },
            nb::arg("layer"), nb::arg("classes"), nb::arg("threads"), nb::arg("monitor"))
        // What runs earned, and what of that was luck; nothing if a limit struck.
        .def(
            "run",
            [](const OwnLookahead& self, std::uint64_t seed, std::size_t first, std::size_t count,
               unsigned threads, Monitor& monitor) {
                Lookahead::Runs runs;
                {
                    const nb::gil_scoped_release release;
                    if (!(*self).run(seed, first, count, threads, monitor, runs)) runs = {};
                }
                return std::pair(to_numpy(std::move(runs.earned)), to_numpy(std::move(runs.luck)));
            },
            nb::arg("seed"), nb::arg("first"), nb::arg("count"), nb::arg("threads"),
            nb::arg("monitor"));
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
        .def(
            "__init__",
            [](TeamPolicy* self, const std::vector<Given<Index>>& local,
               const std::vector<GivenCluster>& clusters) {
                new (self) TeamPolicy(make_policy(local, clusters));
            },
            nb::arg("local"), nb::arg("clusters"))
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
        .def("policy", &PolicySearch::policy)
        // The best policies of single agents, as policies of the team.
        .def(
            "bases",
            [](const PolicySearch& self, std::size_t most) {
                std::vector<TeamPolicy> policies;
                for (LocalPolicy& each : self.bases(most)) {
                    policies.push_back({std::move(each), {}});
                }
                return policies;
            },
            nb::arg("most"));
    bind_lookahead(module);
}

}  // namespace coreplan::bindings
