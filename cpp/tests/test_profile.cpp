#include "policies/profile.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

// Masses that are not 1 count in the reference but not in profiles.
double slack(const CompiledModel& model, double value) {
    return relative(value, model.unit_mass ? 1e-9 : 1e-6);
}

TEST("profiles have the value that following them has, at most the optimum, best first") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, seed % 2 == 0);
        const CompiledModel& model = translation.model();
        const double best = reference::optimum(d);
        Monitor monitor;
        ProfileSearch search(model, seed, 4, monitor);
        double last = search.best().front().value;
        for (int k = 0; k < 10; ++k) {
            const bool better = search.attempt();
            CHECK(better == (search.best().front().value > last));
            last = search.best().front().value;
        }
        CHECK(search.best().size() <= 4);
        for (const Profile& profile : search.best()) {
            const double value = profile.value + model.constant();
            const double expected = reference::Bellman(d, translation.rule(profile.policy)).value();
            CHECK_NEAR(value, expected, slack(model, expected));
            CHECK_NEAR(value, value_of(model, profile.policy, monitor), slack(model, expected));
            CHECK(value <= best + slack(model, best));
        }
        CHECK(std::ranges::is_sorted(search.best(), std::greater<>{}, &Profile::value));
    }
}

TEST("after a descent no agent can do better by itself") {
    std::mt19937_64 random(7);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        if (!model.unit_mass) continue;
        Monitor monitor;
        Descent descent(model, monitor);
        descent.begin(independent_bounds(model, monitor).policy, root_of(model));
        const double before = descent.value();
        descent.descend();
        CHECK(descent.value() >= before - relative(before));
        const double value = value_of(model, descent.profile().policy, monitor);
        for (int k = 0; k < 20; ++k) {
            LocalPolicy changed = descent.profile().policy;
            const std::size_t i = random() % model.agents.size();
            for (std::size_t c = 0; c < model.agents[i].class_count(); ++c) {
                const Index count =
                    model.agents[i].action_begin[c + 1] - model.agents[i].action_begin[c];
                if (count > 0) changed.action[i][c] = static_cast<Index>(random() % count);
            }
            CHECK(value_of(model, changed, monitor) <= value + relative(value));
        }
    }
}

TEST("a descent that is taken back leaves everything as it was") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        Monitor monitor;
        Descent descent(model, monitor);
        descent.begin(independent_bounds(model, monitor).policy, root_of(model));
        const Profile before = descent.profile();
        for (std::size_t i = 0; i < model.agents.size(); i += 2) descent.forget(as<AgentId>(i));
        descent.descend();
        descent.take_back();
        CHECK(descent.profile().policy.action == before.policy.action);
        CHECK(descent.profile().chance == before.chance);
        CHECK(descent.profile().own == before.own);
        CHECK(descent.value() == before.value);
        descent.descend();
        descent.keep();
        CHECK(descent.value() >= before.value - relative(before.value));
    }
}

TEST("a forgotten agent counts nothing until it answers") {
    // Both earn 1 by action 1, and pay 10 if both take it at once.
    Description d = team(2, {one_state(2), one_state(2)});
    for (Index i = 0; i < 2; ++i) d.entries.push_back(entry(1.0, {when(d, i, on_actions({1}))}));
    d.entries.push_back(entry(-10.0, {when(d, 0, on_actions({1})), when(d, 1, on_actions({1}))}));
    const CompiledModel model = compiled(d);
    Monitor monitor;
    Descent descent(model, monitor);
    descent.begin(independent_bounds(model, monitor).policy, root_of(model));
    CHECK_NEAR(descent.value(), -16.0, 1e-12);
    descent.forget(AgentId{0});
    CHECK_NEAR(descent.value(), 2.0, 1e-12);
    descent.descend();
    CHECK_NEAR(descent.value(), 2.0, 1e-12);
}

TEST("profiles are the same for the same seed") {
    const CompiledModel model = compiled(random_team(11));
    Monitor monitor;
    ProfileSearch one(model, 5, 6, monitor);
    ProfileSearch other(model, 5, 6, monitor);
    for (int k = 0; k < 30; ++k) CHECK(one.attempt() == other.attempt());
    CHECK(one.best().size() == other.best().size());
    for (std::size_t k = 0; k < one.best().size(); ++k) {
        CHECK(one.best()[k].value == other.best()[k].value);
        CHECK(one.best()[k].policy.action == other.best()[k].policy.action);
    }
}

TEST("a limit that strikes in a descent is an exception") {
    const CompiledModel model = compiled(team(10, {one_state(2)}));
    Monitor monitor(0);
    CHECK_THROWS(LimitReached, ProfileSearch(model, 1, 1, monitor));
}

}  // namespace
}  // namespace coreplan
