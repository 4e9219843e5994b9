#include "policies/team_search.hpp"

#include "check.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

double slack(const CompiledModel& model, double value) {
    return relative(value, model.unit_mass ? 1e-9 : 1e-6);
}

TeamPolicy policy_of(const CompiledModel& model, const TeamSearch& search) {
    TeamPolicy policy{search.otherwise(), {}};
    Cluster& cluster = policy.clusters.emplace_back();
    for (std::size_t i = 0; i < model.agents.size(); ++i) cluster.agents.push_back(as<AgentId>(i));
    cluster.table = search.table();
    return policy;
}

TEST("a team's search gets better and better policies of the value that it says") {
    int optimal = 0;
    int all = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, seed % 2 == 0);
        const CompiledModel& model = translation.model();
        double constant = 0;
        for (const double each : model.constant_at) constant += each;
        const double best = reference::optimum(d) - constant;
        for (const std::size_t cap : {2U, 1000U}) {
            const testing::Context with("cap", cap);
            Monitor monitor;
            TeamSearchOptions options;
            options.seed = seed;
            options.first_states = options.most_states = cap;
            TeamSearch search(model, options, monitor);
            double last = search.value();
            for (std::uint64_t round = 1; round <= 4; ++round) {
                const bool better = search.improve(Monitor::kNoEnd, round);
                CHECK(search.done(round));
                CHECK(better == (search.value() > last));
                CHECK(search.value() >= last);
                last = search.value();
                const TeamPolicy policy = policy_of(model, search);
                const double followed =
                    reference::Bellman(d, translation.rule(policy)).value() - constant;
                CHECK(search.value() <= followed + slack(model, followed));
                if (search.exact()) CHECK_NEAR(search.value(), followed, slack(model, followed));
                CHECK(search.value() <= best + slack(model, best));
            }
            if (cap == 1000U) {
                ++all;
                optimal += last >= best - relative(best, 1e-6) ? 1 : 0;
            }
        }
    }
    // Not a promise, but if it fails something has become worse.
    CHECK(optimal * 100 >= all * 95);
}

TEST("an earlier rollout is improved, never forgotten") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        if (!model.unit_mass) continue;
        Monitor monitor;
        ProfileSearch profiles(model, seed, 3, monitor);
        Outlooks outlooks(model, Monitor::kNoLimit, monitor);
        const std::vector<std::shared_ptr<const Base>> one{outlooks.add(profiles.best()[0].policy)};
        const auto first = std::make_shared<Rollout>(outlooks, one, RolloutOptions{}, monitor);
        first->run();
        Rollout second(outlooks, one, {}, monitor, {first});
        second.run();
        CHECK(second.value() >= first->value() - relative(first->value()));
    }
}

TEST("a search starts from a given policy") {
    // Both earn 1 by action 1, and 10 if both take action 2, which costs each 1 otherwise.
    Description d = team(1, {one_state(3), one_state(3)});
    for (Index i = 0; i < 2; ++i) {
        d.entries.push_back(entry(1.0, {when(d, i, on_actions({1}))}));
        d.entries.push_back(entry(-1.0, {when(d, i, on_actions({2}))}));
    }
    d.entries.push_back(entry(10.0, {when(d, 0, on_actions({2})), when(d, 1, on_actions({2}))}));
    const CompiledModel model = compiled(d, false);
    Monitor monitor;
    TeamSearch search(model, {}, monitor);
    CHECK_NEAR(search.value(), 2.0, 1e-12);
    LocalPolicy both;
    for (const CompiledAgent& who : model.agents) both.action.emplace_back(who.class_count(), 2);
    CHECK(search.add(both));
    CHECK_NEAR(search.value(), 8.0, 1e-12);
}

TEST("what stops a search leaves the best policy so far") {
    const Description d = random_team(3);
    const policies::Translation translation(d, true);
    int looks = 0;
    // Every look at the clock may be the last one.
    for (int stop_after = 1; stop_after < 60; ++stop_after) {
        looks = 0;
        Monitor monitor(Monitor::kNoLimit, Monitor::kNoLimit);
        TeamSearch search(translation.model(), {}, monitor);
        while (looks < stop_after) {
            search.improve(0, TeamSearch::kNoEnd);
            ++looks;
        }
        const TeamPolicy policy = policy_of(translation.model(), search);
        double constant = 0;
        for (const double each : translation.model().constant_at) constant += each;
        const double followed = reference::Bellman(d, translation.rule(policy)).value() - constant;
        CHECK(search.value() <= followed + relative(followed));
    }
}

TEST("where memory is short a search does without rollouts") {
    const CompiledModel model = compiled(random_team(8));
    Monitor free;
    TeamSearch roomy(model, {}, free);
    roomy.improve(Monitor::kNoEnd, 2);
    Monitor monitor(Monitor::kNoLimit, 500);
    TeamSearch search(model, {}, monitor);
    search.improve(Monitor::kNoEnd, 2);
    CHECK(search.done(2));
    CHECK(search.value() <= roomy.value() + relative(roomy.value()));
}

}  // namespace
}  // namespace coreplan
