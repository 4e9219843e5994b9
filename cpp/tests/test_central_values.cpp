#include "decentralised/central_values.hpp"

#include "check.hpp"
#include "engine/kernel.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;

TEST("the centralised value is the optimum, and the tables of after-states lead back to it") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const CompiledModel model = compiled(d);
        const double slack = model.unit_mass ? 1e-9 : 1e-6;
        Monitor monitor;
        const CentralValues central(model, monitor);
        const double best = reference::optimum(d);
        CHECK_NEAR(central.value() + model.constant(), best, relative(best, slack));
        // At the root, by looking at every joint action.
        double most = -1e300;
        const std::size_t n = model.agents.size();
        std::vector<Index> action(n, 0);
        for (bool more = true; more;) {
            double value = 0;
            std::size_t place = 0;
            for (std::size_t i = 0; i < n; ++i) {
                const CompiledAgent& agent = model.agents[i];
                value += agent.action_reward[action[i]];
                place = place * agent.after_layer_begin[1] + at(agent.action_after[action[i]]);
            }
            most = std::max(most, value + central.after(0)[place]);
            more = false;
            for (std::size_t i = 0; !more && i < n; ++i) {
                more = ++action[i] < model.agents[i].action_begin[1];
                if (!more) action[i] = 0;
            }
        }
        CHECK_NEAR(most, central.value(), relative(most, slack));
    }
}

TEST("tables that do not fit are an exception, and memory is given back") {
    const CompiledModel model = compiled(crowd(3, 8, 6));
    Monitor small(Monitor::kNoLimit, 1000);
    CHECK_THROWS(LimitReached, CentralValues(model, small));
    CHECK(small.reserved() == 0);
    Monitor late(0);
    late.tick(1U << 20U);
    CHECK_THROWS(LimitReached, CentralValues(model, late));
    CHECK_NEAR(late.reserved(), 0, 1e-6);
    Monitor enough(Monitor::kNoLimit, CentralValues::bytes_of(model));
    {
        const CentralValues central(model, enough);
        CHECK(enough.reserved() > 0);
        CHECK(central.cells() > 0);
    }
    CHECK_NEAR(enough.reserved(), 0, 1e-6);
}

}  // namespace
}  // namespace coreplan
