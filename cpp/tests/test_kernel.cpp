#include "engine/kernel.hpp"

#include <algorithm>

#include "baselines/dp.hpp"
#include "check.hpp"
#include "clocks.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

TeamSolution solved(const CompiledModel& model, bool policy = true, unsigned threads = 1) {
    Monitor monitor;
    return solve_team(model, model.everyone(), {.policy = policy, .threads = threads}, monitor);
}

// Calls with every joint state that can be reached, the last stages first.
template <class Call>
void for_each_joint_state(const policies::Translation& translation, const Call& call) {
    const LocalGraphs& graphs = translation.graphs();
    const auto layers = static_cast<Index>(graphs.agents[0].layer_begin.size() - 2);
    for (Index layer = layers; layer-- > 0;) {
        reference::JointState state;
        const auto choose = [&](const auto& self) -> void {
            if (state.size() == graphs.agents.size()) {
                call(graphs.first_stage + layer, state);
                return;
            }
            const LocalGraph& graph = graphs.agents[state.size()];
            for (Index k = graph.layer_begin[layer]; k < graph.layer_begin[layer + 1]; ++k) {
                state.push_back(static_cast<Index>(graph.node_state[k]));
                self(self);
                state.pop_back();
            }
        };
        choose(choose);
    }
}

TEST("the kernel finds the optimum of a team, with and without a policy") {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        Monitor monitor;
        const DpResult dp = solve_dp(model, monitor);
        const double slack = relative(dp.lower, model.unit_mass ? 1e-9 : 1e-7);
        CHECK_NEAR(solved(model).value + model.constant(), dp.lower, slack);
        CHECK_NEAR(solved(model, false).value + model.constant(), dp.lower, slack);
    }
}

TEST("the kernel's decisions are as good as those of dp in every joint state") {
    std::uint64_t compared = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, true);
        const CompiledModel& model = translation.model();
        Monitor monitor;
        DpResult dp = solve_dp(model, monitor);
        const TeamSolution team = solved(model);
        CHECK(team.decisions.size() == dp.state_count);
        // Ties may be broken differently, so what counts is what following them earns.
        for (std::uint64_t s = 0; s < dp.state_count; ++s) dp.actions[s] = team.decisions[s] + 1;
        reference::Bellman followed(d, translation.rule(dp));
        reference::Bellman best(d);
        for_each_joint_state(translation, [&](Index stage, const reference::JointState& state) {
            const double value = best.value(stage, state);
            CHECK_NEAR(followed.value(stage, state), value,
                       relative(value, model.unit_mass ? 1e-9 : 1e-7));
            ++compared;
        });
    }
    CHECK(compared > 1000);
}

TEST("the work of a team is known beforehand, whatever the number of threads") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        for (const bool policy : {false, true}) {
            for (const unsigned threads : {1U, 3U}) {
                Monitor monitor;
                const PreparedTeam team(model, model.everyone(), monitor);
                const std::uint64_t before = monitor.work();
                (void)team.solve({.policy = policy, .threads = threads}, monitor);
                CHECK(static_cast<double>(monitor.work() - before) ==
                      kernel_work(model, model.everyone()));
            }
        }
    }
}

TEST("the order of the agents does not change the value") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        std::vector<AgentId> order = model.everyone();
        std::ranges::reverse(order);
        Monitor monitor;
        const double reversed = solve_team(model, order, {.policy = false}, monitor).value;
        CHECK_NEAR(reversed, solved(model).value, relative(reversed));
    }
}

TEST("values of all layers can be kept, and storage used again") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        Monitor monitor;
        const PreparedTeam team(model, model.everyone(), monitor);
        const TeamSolution plain = team.solve({.policy = true}, monitor);
        const TeamSolution kept = team.solve({.policy = false, .values = true}, monitor);
        CHECK(kept.values.size() == plain.decisions.size());
        CHECK(kept.values[0] == plain.value);
        CHECK(kept.value == plain.value);
        CHECK(team.solve({.policy = true}, monitor).decisions == plain.decisions);
    }
}

TEST("the kernel gives the same on every number of threads") {
    // Large enough that a stage is shared out.
    const CompiledModel model = compiled(crowd(3, 40, 6));
    Monitor monitor;
    const PreparedTeam team(model, model.everyone(), monitor);
    const TeamSolution one = team.solve({.policy = true}, monitor);
    for (const unsigned threads : {2U, 3U}) {
        const TeamSolution more = team.solve({.policy = true, .threads = threads}, monitor);
        CHECK(more.value == one.value);
        CHECK(more.decisions == one.decisions);
    }
}

TEST("time runs out inside a stage") {
    const CompiledModel model = compiled(crowd(3, 60, 30));
    Monitor own;
    const PreparedTeam team(model, model.everyone(), own);
    for (const unsigned threads : {1U, 2U}) {
        Monitor monitor = clocks::striking_after(3);
        const TeamSolution stopped = team.solve({.policy = true, .threads = threads}, monitor);
        CHECK(stopped.stop == Stop::time_limit);
    }
}

TEST("a team that does not fit is refused before memory is taken") {
    const CompiledModel model = compiled(random_team(1));
    Monitor monitor(Monitor::kNoLimit, 10);
    CHECK_THROWS(LimitReached, solve_team(model, model.everyone(), {.policy = true}, monitor));
}

}  // namespace
}  // namespace coreplan
