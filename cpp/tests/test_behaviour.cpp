#include "policies/behaviour.hpp"

#include <limits>

#include "check.hpp"
#include "policies/profile.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;

using Groups = std::vector<std::shared_ptr<const Behaviour>>;

Groups everyone_alone(const CompiledModel& model, const LocalPolicy& policy, Monitor& monitor) {
    Groups groups;
    for (std::size_t i = 0; i < model.agents.size(); ++i) {
        groups.push_back(std::make_shared<Behaviour>(
            behave(model, interactions_of(model), {as<AgentId>(i)}, {policy.action[i]}, monitor)));
    }
    return groups;
}

// A cluster answers the others by a rollout; returns the rollout's value in its own model.
double answer(const CompiledModel& model, const std::vector<AgentId>& agents, std::size_t cap,
              Groups& groups, Monitor& monitor) {
    const auto touching = interactions_of(model);
    const CompiledModel seen = seen_by(model, touching, agents, groups);
    ProfileSearch profiles(seen, 1, 3, monitor);
    for (int k = 0; k < 3; ++k) profiles.attempt();
    Outlooks outlooks(seen, std::numeric_limits<double>::infinity(), monitor);
    std::vector<std::shared_ptr<const Base>> bases;
    for (const Profile& profile : profiles.best()) bases.push_back(outlooks.add(profile.policy));
    Rollout rollout(outlooks, bases, {cap, true}, monitor);
    rollout.run();
    const auto behaviour = std::make_shared<Behaviour>(
        behave(model, touching, agents, profiles.best()[0].policy.action, rollout, monitor));
    for (const AgentId who : agents) groups[at(who)] = behaviour;
    return rollout.value();
}

TeamPolicy policy_of(const Groups& groups) {
    TeamPolicy policy;
    policy.otherwise.action.resize(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (at(groups[i]->agents[0]) != i) continue;
        for (std::size_t m = 0; m < groups[i]->agents.size(); ++m) {
            policy.otherwise.action[at(groups[i]->agents[m])] = groups[i]->otherwise[m];
        }
        policy.clusters.push_back({groups[i]->agents, groups[i]->table});
    }
    return policy;
}

TEST("the total of agents that act alone is the value of their profile") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        if (!model.unit_mass) continue;
        Monitor monitor;
        const LocalPolicy policy = independent_bounds(model, monitor).policy;
        double constant = 0;
        for (const double each : model.constant_at) constant += each;
        const double expected = value_of(model, policy, monitor) - constant;
        const Groups groups = everyone_alone(model, policy, monitor);
        CHECK_NEAR(total_of(model, groups), expected, relative(expected));
        // The same as one group that happens to act independently.
        std::vector<AgentId> all;
        for (std::size_t i = 0; i < model.agents.size(); ++i) all.push_back(as<AgentId>(i));
        const auto together = std::make_shared<Behaviour>(
            behave(model, interactions_of(model), all, policy.action, monitor));
        CHECK_NEAR(total_of(model, Groups(all.size(), together)), expected, relative(expected));
    }
}

TEST("what a cluster gains in its own model is what the whole gains, and the total is exact") {
    int joint = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = teams::ring(7, 6, seed, seed % 2 == 1);
        Monitor monitor;
        Groups groups = everyone_alone(model, independent_bounds(model, monitor).policy, monitor);
        for (const std::size_t cap : {1000U, 5U}) {
            const testing::Context with("cap", cap);
            for (const std::vector<AgentId>& cluster :
                 {std::vector<AgentId>{AgentId{0}, AgentId{1}, AgentId{2}},
                  std::vector<AgentId>{AgentId{3}, AgentId{5}, AgentId{6}}}) {
                // What the others earn among themselves does not change.
                double others = total_of(model, groups);
                const auto touching = interactions_of(model);
                const CompiledModel seen = seen_by(model, touching, cluster, groups);
                LocalPolicy as_it_is;
                for (const AgentId who : cluster) {
                    const auto& group = *groups[at(who)];
                    const auto m = std::ranges::find(group.agents, who) - group.agents.begin();
                    as_it_is.action.push_back(group.otherwise[static_cast<std::size_t>(m)]);
                }
                const bool alone = groups[at(cluster[0])]->agents.size() == 1;
                if (alone) others -= value_of(seen, as_it_is, monitor);
                const double value = answer(model, cluster, cap, groups, monitor);
                const double total = total_of(model, groups);
                if (alone) CHECK_NEAR(total, others + value, relative(total));
                CHECK_NEAR(total, teams::worth(model, policy_of(groups)), relative(total));
                joint += groups[at(cluster[0])]->table.size() > 0 ? 1 : 0;
            }
        }
    }
    CHECK(joint > 20);
}

}  // namespace
}  // namespace coreplan
