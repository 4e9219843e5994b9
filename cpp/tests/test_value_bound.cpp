#include "crg/value_bound.hpp"

#include "bounds/independent.hpp"
#include "check.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;

double bound_of(const Description& d) {
    Monitor monitor;
    const double before = monitor.reserved();
    const double bound = value_bound(d, monitor);
    CHECK(monitor.reserved() == before);
    return bound;
}

TEST("no policy earns more than the value bound, which is never looser than agents alone") {
    std::size_t tighter = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const double best = reference::optimum(d);
        Monitor monitor;
        const double alone = independent_bounds(compiled(d), monitor).upper;
        CHECK(bound_of(d) >= best - relative(best, 1e-12));
        CHECK(bound_of(d) <= alone + relative(alone, 1e-12));
        if (bound_of(d) < alone - 1e-6) ++tighter;
    }
    CHECK(tighter > 3);
}

TEST("rewards that exclude each other do not add up") {
    // Agent 1 does one of two actions; each earns 5 together with action 1 of agent 0.
    Description d = team(3, {one_state(2), one_state(3)});
    const Member own = when(d, 0, on_actions({1}));
    for (const Index action : {1U, 2U}) {
        d.entries.push_back(entry(5.0, {own, when(d, 1, on_actions({action}))}));
    }
    CHECK_NEAR(bound_of(d), 15.0, 1e-9);
    Monitor monitor;
    CHECK_NEAR(independent_bounds(compiled(d), monitor).upper, 30.0, 1e-9);
}

}  // namespace
}  // namespace coreplan
