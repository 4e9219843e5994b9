#include "model/unit_mass.hpp"

#include <cmath>

#include "baselines/dp.hpp"
#include "check.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

double best_of(const CompiledModel& model) {
    Monitor monitor;
    return solve_dp(model, monitor).lower;
}

TEST("a model of unit mass stays as it is, and has no error") {
    CompiledModel model = compiled(team(3, {one_state(2), one_state(1)}));
    CHECK(model.unit_mass);
    CHECK(mass_error(model) == 0.0);
    const auto before = model.agents[0].outcome_probability;
    make_unit_mass(model);
    CHECK(model.agents[0].outcome_probability == before);
}

TEST("laws are divided by their sums, and with them rewards and chances") {
    const AgentDescription half =
        agent(2, 1, {{0, 0, {{0, 0.5}, {1, 0.5 + 8e-10}}}, {1, 0, {{1}}}});
    Description d = team(2, {half, half});
    d.entries.push_back(entry(3.0, {when(d, 0, on_nexts({1}))}));
    d.entries.push_back(entry(5.0, {when(d, 0, on_nexts({1})), when(d, 1, on_nexts({1}))}));
    CompiledModel model = compiled(d);
    CHECK(!model.unit_mass);
    const double reward = model.agents[0].action_reward[0];
    make_unit_mass(model);
    CHECK(model.unit_mass);
    CHECK_NEAR(model.agents[0].action_reward[0], reward / (1 + 8e-10), 1e-15);
    for (const CompiledAgent& each : model.agents) {
        for (std::size_t after = 0; after < each.after_mass.size(); ++after) {
            double sum = 0;
            for (Index o = each.outcome_begin[after]; o < each.outcome_begin[after + 1]; ++o) {
                sum += each.outcome_probability[o];
            }
            CHECK_NEAR(sum, 1.0, 1e-15);
        }
        for (const Factor& factor : each.label_factor) CHECK(factor.chance <= 1.0);
    }
}

TEST("values with laws as they are written are within the error") {
    int imprecise = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        Description d = any_team(seed);
        for (AgentDescription& each : d.agents) {
            for (std::size_t o = 0; o < each.outcome_probability.size(); o += 3) {
                each.outcome_probability[o] *= 1 + (seed % 2 == 0 ? 3e-10 : -3e-10);
            }
        }
        CompiledModel model = compiled(d, seed % 3 != 0);
        if (!model.unit_mass) ++imprecise;
        const double written = best_of(model);
        const double error = mass_error(model);
        make_unit_mass(model);
        CHECK_NEAR(best_of(model), written, error + relative(written, 1e-13));
    }
    CHECK(imprecise > 250);
}

}  // namespace
}  // namespace coreplan
