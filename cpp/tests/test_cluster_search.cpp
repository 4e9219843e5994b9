#include "policies/cluster_search.hpp"

#include "check.hpp"
#include "policies.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;

TEST("clusters of a small team are worth what they say, at most the optimum") {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, true);
        const CompiledModel& model = translation.model();
        if (!model.unit_mass) continue;
        const double constant = model.constant();
        Monitor monitor;
        ClusterSearchOptions options;
        options.seed = seed;
        options.cluster = 2 + seed % 2;
        options.most_states = seed % 3 == 0 ? 3 : 1000;
        ClusterSearch search(model, options, monitor);
        double last = search.value();
        for (std::uint64_t moves = 5; moves <= 20; moves += 5) {
            search.improve(Monitor::kNoEnd, moves);
            CHECK(search.value() >= last);
            last = search.value();
            const TeamPolicy policy = search.policy();
            const double followed =
                reference::Bellman(d, translation.rule(policy)).value() - constant;
            CHECK_NEAR(search.value(), followed, relative(followed));
        }
        CHECK(last <= reference::optimum(d) - constant + relative(last));
    }
}

TEST("the total of 40 agents is what following their clusters gives") {
    const CompiledModel model = teams::ring(40, 12, 5);
    Monitor monitor;
    ClusterSearchOptions options;
    options.cluster = 4;
    ClusterSearch search(model, options, monitor);
    const double first = search.value();
    CHECK_NEAR(first, teams::worth(model, search.policy()), relative(first));
    for (const std::uint64_t moves : {190U, 210U, 235U}) {
        search.improve(Monitor::kNoEnd, moves);
        const double value = search.value();
        CHECK_NEAR(value, teams::worth(model, search.policy()), relative(value));
    }
    CHECK(search.value() > first);
    CHECK(!search.policy().clusters.empty());
}

TEST("the total of 25 agents that share a limit is what following their clusters gives") {
    const CompiledModel model = teams::ring(25, 8, 5, true);
    Monitor monitor;
    ClusterSearchOptions options;
    options.cluster = 4;
    ClusterSearch search(model, options, monitor);
    const double first = search.value();
    CHECK_NEAR(first, teams::worth(model, search.policy()), relative(first));
    for (const std::uint64_t moves : {130U, 145U, 165U}) {
        search.improve(Monitor::kNoEnd, moves);
        const double value = search.value();
        CHECK_NEAR(value, teams::worth(model, search.policy()), relative(value));
    }
    CHECK(search.value() > first);
    CHECK(!search.policy().clusters.empty());
}

TEST("a seed gives the same clusters for any number of threads") {
    const CompiledModel model = teams::ring(20, 8, 2, true);
    Monitor monitor;
    ClusterSearchOptions options;
    ClusterSearch one(model, options, monitor);
    options.threads = 3;
    ClusterSearch other(model, options, monitor);
    one.improve(Monitor::kNoEnd, 130);
    for (std::uint64_t moves = 1; moves <= 130; ++moves) other.improve(Monitor::kNoEnd, moves);
    CHECK(one.value() == other.value());
    CHECK(one.policy().otherwise.action == other.policy().otherwise.action);
    CHECK(one.policy().clusters.size() == other.policy().clusters.size());
}

}  // namespace
}  // namespace coreplan
