#include "policies/division.hpp"

#include <functional>
#include <random>

#include "baselines/dp.hpp"
#include "check.hpp"
#include "engine/components.hpp"
#include "policies/profile.hpp"
#include "policies/rollout.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;

AgentDescription wanderer(std::mt19937_64& random, Index states, Index actions) {
    std::vector<Choice> choices;
    for (Index s = 0; s < states; ++s) {
        for (Index a = 0; a < actions; ++a) {
            const double stay = static_cast<double>(random() % 5) / 4;
            const Index next = (s + 1 + a) % states;
            if (stay == 1 || next == s) choices.push_back({s, a, {{s}}});
            else if (stay == 0) choices.push_back({s, a, {{next}}});
            else choices.push_back({s, a, {{s, stay}, {next, 1 - stay}}});
        }
    }
    return agent(states, actions, std::move(choices));
}

// Four agents in a row that earn together with the one or two that have no choice, and a few costs
// of their own. In a third, two neighbours also hinder each other.
CompiledModel watchers(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const Index passive = 1 + static_cast<Index>(random() % 2);
    std::vector<AgentDescription> agents;
    for (Index i = 0; i < 4; ++i) {
        agents.push_back(wanderer(random, 2 + static_cast<Index>(random() % 2), 2));
    }
    for (Index k = 0; k < passive; ++k) agents.push_back(wanderer(random, 3, 1));
    Description description = team(3, std::move(agents));
    const auto value = [&] { return static_cast<double>(1 + random() % 9); };
    for (Index i = 0; i < 4; ++i) {
        description.entries.push_back(entry(-value() / 4, {when(description, i, on_actions({1}))}));
    }
    for (Index i = 0; i + 1 < 4; ++i) {
        for (Index k = 4; k < 4 + passive; ++k) {
            const Index where = static_cast<Index>(random() % 3);
            description.entries.push_back(entry(
                value(),
                {when(description, i, on_actions({1})), when(description, i + 1, on_states({0})),
                 when(description, k, on_states({where}))}));
        }
    }
    for (Index k = 4; k < 4 + passive; ++k) {
        description.entries.push_back(entry(value(), {when(description, k, on_nexts({1}))}));
    }
    if (passive == 2) {
        description.entries.push_back(entry(-value(), {when(description, 4, on_states({0})),
                                                       when(description, 5, on_states({0}))}));
    }
    if (seed % 3 == 0) {
        description.entries.push_back(entry(-value(), {when(description, 1, on_actions({1})),
                                                       when(description, 2, on_actions({1}))}));
    }
    return compiled(description);
}

std::vector<AgentId> agents_without_choice(const CompiledModel& model) {
    std::vector<AgentId> found;
    for (const AgentId who : model.everyone()) {
        if (!model.agents[at(who)].has_choice()) found.push_back(who);
    }
    return found;
}

// So that the team as a whole is too much work.
DivisionOptions smaller_than(const CompiledModel& model) {
    return {.block_work = kernel_work(model, model.everyone()) - 1};
}

// Calls visit(layer, classes) for all joint states, in order.
void for_each_state(const CompiledModel& model,
                    const std::function<void(Index, const std::vector<ClassId>&)>& visit) {
    for (Index l = 0; l < model.layer_count(); ++l) {
        std::vector<ClassId> row;
        for (const CompiledAgent& agent : model.agents) {
            row.push_back(ClassId{agent.layer_begin[l]});
        }
        for (bool more = true; more;) {
            visit(l, row);
            more = false;
            for (std::size_t i = row.size(); !more && i-- > 0;) {
                const CompiledAgent& agent = model.agents[i];
                more = at(row[i]) + 1 < agent.layer_begin[l + 1];
                row[i] = more ? as<ClassId>(at(row[i]) + 1) : ClassId{agent.layer_begin[l]};
            }
        }
    }
}

// What a division does, everywhere.
TeamPolicy policy_of(const CompiledModel& model, const Division& division) {
    TeamPolicy policy;
    for (const CompiledAgent& agent : model.agents) {
        policy.otherwise.action.emplace_back(agent.class_count(), 0);
    }
    Cluster& cluster = policy.clusters.emplace_back();
    cluster.agents = model.everyone();
    JointTable& table = cluster.table;
    std::vector<Index> actions(model.agents.size());
    for_each_state(model, [&](Index l, const std::vector<ClassId>& classes) {
        for (std::size_t i = 0; i < classes.size(); ++i) {
            actions[i] = model.agents[i].action_begin[at(classes[i])];
        }
        division.act(l, classes, actions);
        table.layer.push_back(l);
        for (std::size_t i = 0; i < classes.size(); ++i) {
            const std::size_t c = at(classes[i]);
            table.classes.push_back(static_cast<Index>(c - model.agents[i].layer_begin[l]));
            table.actions.push_back(actions[i] - model.agents[i].action_begin[c]);
        }
    });
    return policy;
}

TEST("a division promises at most what its actions are worth, and that is at most the optimum") {
    int divided = 0;
    int cut = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = watchers(seed);
        Monitor monitor;
        const auto divisions = divide(model, smaller_than(model), monitor);
        divided += divisions.empty() ? 0 : 1;
        const double optimum = solve_dp(model, monitor).lower - model.constant();
        const double passive =
            solve_team(model, agents_without_choice(model), {.policy = false}, monitor).value;
        const auto root = root_of(model);
        double before = std::numeric_limits<double>::infinity();
        for (const Division& division : divisions) {
            const double promised = division.value(0, root.classes);
            CHECK(promised <= before);
            before = promised;
            const double worth = teams::worth(model, policy_of(model, division));
            CHECK(promised + passive <= worth + relative(worth));
            CHECK(worth <= optimum + relative(optimum));
            cut += promised + passive < worth - relative(worth) ? 1 : 0;
        }
    }
    CHECK(divided > 100);
    CHECK(cut > 10);  // something is earned across blocks
}

TEST("where nothing but agents with choices interact, nothing is divided") {
    Monitor monitor;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const CompiledModel model = teams::ring(6, 4, seed);
        if (!agents_without_choice(model).empty()) continue;
        CHECK(divide(model, {}, monitor).empty());
    }
    // A team that fits as a whole has no need for it.
    CHECK(divide(watchers(1), {}, monitor).empty());
}

TEST("a division ends at its limits of work") {
    const CompiledModel model = watchers(1);
    Monitor monitor;
    CHECK(divide(model, {.block_work = 1}, monitor).empty());
    CHECK(divide(model, {.most_work = 0}, monitor).empty());
}

TEST("a rollout that goes by divisions is worth at least as much as they promise") {
    int better = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = watchers(seed);
        Monitor monitor;
        const auto divisions = divide(model, smaller_than(model), monitor);
        const double optimum = solve_dp(model, monitor).lower - model.constant();
        const double passive =
            solve_team(model, agents_without_choice(model), {.policy = false}, monitor).value;
        Outlooks outlooks(model, std::numeric_limits<double>::infinity(), monitor);
        const ProfileSearch profiles(model, seed, 1, monitor);
        const LocalPolicy& usual = profiles.best().front().policy;
        for (const std::size_t most : {1U, 3U, 1000U}) {
            for (const unsigned threads : {1U, 2U}) {
                RolloutOptions options;
                options.most_states = most;
                options.threads = threads;
                Rollout rollout(outlooks, {outlooks.add(usual)}, options, monitor, {}, divisions);
                CHECK(rollout.run());
                TeamPolicy policy{usual, {{model.everyone(), rollout.table()}}};
                const double worth = teams::worth(model, policy);
                CHECK(rollout.value() <= worth + relative(worth));
                CHECK(worth <= optimum + relative(optimum));
                if (!rollout.exact()) continue;
                CHECK_NEAR(rollout.value(), worth, relative(worth));
                if (divisions.empty()) continue;
                const double promised = divisions[0].value(0, root_of(model).classes) + passive;
                CHECK(worth >= promised - relative(worth));
                better += worth > profiles.best().front().value + relative(worth) ? 1 : 0;
            }
        }
    }
    CHECK(better > 50);
}

}  // namespace
}  // namespace coreplan
