#include "decentralised/gmaa.hpp"

#include <algorithm>
#include <limits>

#include "check.hpp"
#include "clocks.hpp"
#include "engine/reduction.hpp"
#include "policies.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;

constexpr std::uint64_t kLong = Monitor::kNoEnd;

double policies_of(const CompiledModel& model) {
    double count = 1;
    for (const CompiledAgent& agent : model.agents) {
        for (Index c = 0; c < agent.layer_begin[model.layer_count()]; ++c) {
            count *= agent.action_begin[c + 1] - agent.action_begin[c];
        }
    }
    return count;
}

// The best of all combinations of local policies, by looking at each.
double best_of_all(const CompiledModel& model) {
    Monitor monitor;
    LocalPolicy policy;
    for (const CompiledAgent& agent : model.agents)
        policy.action.emplace_back(agent.class_count(), 0);
    double best = -std::numeric_limits<double>::infinity();
    for (bool more = true; more;) {
        best = std::max(best, value_of(model, policy, monitor));
        more = false;
        for (std::size_t i = 0; !more && i < model.agents.size(); ++i) {
            const CompiledAgent& agent = model.agents[i];
            for (Index c = 0; !more && c < agent.layer_begin[model.layer_count()]; ++c) {
                more = ++policy.action[i][c] < agent.action_begin[c + 1] - agent.action_begin[c];
                if (!more) policy.action[i][c] = 0;
            }
        }
    }
    return best;
}

double slack(const CompiledModel& model, double value) {
    return relative(value, model.unit_mass ? 1e-9 : 1e-6);
}

TEST("the search finds the best of all combinations of local policies, with and without a start") {
    int judged = 0;
    int lossy = 0;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const CompiledModel model = compiled(d);
        if (policies_of(model) > 3000) continue;
        ++judged;
        const double best = best_of_all(model);
        for (const std::size_t tries : {std::size_t{0}, std::size_t{5}}) {
            Monitor monitor;
            DecentralisedSearch search(model, seed, monitor);
            if (tries > 0) search.improve(tries);
            CHECK(search.upper() >= best - model.constant() - slack(model, best));
            CHECK(search.prepare());
            const double central = search.upper() + model.constant();
            CHECK(central >= best - slack(model, best));
            CHECK(search.run(0, kLong));
            CHECK_NEAR(search.lower() + model.constant(), best, slack(model, best));
            CHECK_NEAR(search.upper() + model.constant(), best, slack(model, best));
            CHECK_NEAR(value_of(model, search.policy(), monitor), best, slack(model, best));
            if (tries == 0 && central > best + slack(model, best)) ++lossy;
        }
    }
    CHECK(judged > 100);
    CHECK(lossy > 5);
}

TEST("merging and shrinking do not change the decentralised optimum") {
    int changed = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        if (d.agents.size() > 3 || d.horizon > 4) continue;
        const policies::Translation translation(d, false);
        const CompiledModel& all = translation.model();
        const CompiledModel merged = compiled(d);
        Monitor monitor;
        const Reduction reduction = reduce(merged, {}, monitor);
        DecentralisedSearch plain(all, 1, monitor);
        DecentralisedSearch small(reduction.model, 1, monitor);
        for (DecentralisedSearch* search : {&plain, &small}) {
            search->improve(5);
            CHECK(search->prepare());
            CHECK(search->run(0, kLong));
        }
        const double value = plain.lower() + all.constant();
        CHECK_NEAR(small.lower() + reduction.offset + merged.constant(), value, slack(all, value));
        CHECK_NEAR(reference::Bellman(d, translation.rule(plain.policy())).value(), value,
                   slack(all, value));
        if (reduction.report.actions_eliminated + reduction.report.actions_settled > 0) ++changed;
    }
    CHECK(changed > 50);
}

TEST("wherever it stops, the bounds hold") {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        if (!model.unit_mass || model.agents.size() > 3) continue;
        Monitor monitor(Monitor::kNoLimit, Monitor::kNoLimit, {}, clocks::ticking());
        DecentralisedSearch whole(model, 1, monitor);
        CHECK(whole.prepare());
        CHECK(whole.run(0, kLong));
        const double best = whole.lower();
        DecentralisedSearch steps(model, 1, monitor);
        CHECK(steps.prepare());
        double upper = steps.upper();
        double lower = steps.lower();
        // The least work: it stops at every node.
        for (int k = 0; k < 50; ++k) {
            const bool done = steps.run(0, 1);
            CHECK(steps.upper() <= upper + 1e-12);
            CHECK(steps.lower() >= lower);
            upper = steps.upper();
            lower = steps.lower();
            CHECK(lower <= best + relative(best));
            CHECK(upper >= best - relative(best));
            if (done) break;
        }
        // Little memory: it stops where that ends.
        for (const double bytes : {0.0, 3e3, 1e4, 1e5}) {
            Monitor small(Monitor::kNoLimit, bytes);
            DecentralisedSearch search(model, 1, small);
            const bool done = search.prepare() && search.run(0, kLong);
            CHECK(search.lower() <= best + relative(best));
            CHECK(search.upper() >= best - relative(best));
            if (done) continue;
            CHECK(search.stop() == Stop::memory_limit);
            CHECK(!search.message().empty());
        }
    }
}

TEST("what agents learn of themselves only can be worth less than what all know") {
    // Agent 0 goes to state 1 or 2 by chance; agent 1 has to name the state at the next stage.
    Description d = team(
        2,
        {agent(3, 1, {{0, 0, {{1, 0.5}, {2, 0.5}}}, {1, 0, {{1}}}, {2, 0, {{2}}}}), one_state(2)});
    for (Index k = 0; k < 2; ++k) {
        d.entries.push_back(entry(10.0,
                                  {when(d, 0, on_states({k + 1})), when(d, 1, on_actions({k}))},
                                  std::vector<Index>{1}));
    }
    const CompiledModel model = compiled(d);
    Monitor monitor;
    DecentralisedSearch search(model, 1, monitor);
    CHECK(search.prepare());
    CHECK_NEAR(search.upper(), 10.0, 1e-9);
    CHECK(search.run(0, kLong));
    CHECK_NEAR(search.lower(), 5.0, 1e-9);
    CHECK_NEAR(search.upper(), 5.0, 1e-9);
    CHECK(search.work().games >= 2);
    CHECK(search.work().nodes >= 2);
}

TEST("partial policies that lead to the same distributions are one") {
    // Which of two equal ways is taken at each stage does not matter, only that both take another.
    Description d = team(6, {one_state(2), one_state(2)});
    for (Index k = 0; k < 2; ++k) {
        d.entries.push_back(
            entry(-1.0 - k, {when(d, 0, on_actions({k})), when(d, 1, on_actions({k}))}));
    }
    const CompiledModel model = compiled(d);
    Monitor monitor;
    DecentralisedSearch search(model, 1, monitor);
    CHECK(search.prepare());
    CHECK(search.run(0, kLong));
    CHECK_NEAR(search.lower(), 0.0, 1e-12);
    CHECK(search.work().nodes <= 12);
}

}  // namespace
}  // namespace coreplan
