#include "policies/improve.hpp"

#include "check.hpp"
#include "clocks.hpp"
#include "policies.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;

TEST("a policy search never says more than its policy is worth, whatever the team") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, seed % 2 == 0);
        Monitor monitor;
        PolicySearchOptions options;
        options.seed = seed;
        options.joint_agents = seed % 4 == 0 ? 1 : 10;
        options.most_states = seed % 3 == 0 ? 2 : 1000;
        PolicySearch search(translation.model(), options, monitor);
        double last = search.value();
        for (const std::uint64_t moves : {1U, 3U, 12U}) {
            const bool better = search.improve(Monitor::kNoEnd, moves);
            CHECK(better == (search.value() > last));
            CHECK(search.value() >= last);
            last = search.value();
            const TeamPolicy policy = search.policy();
            const double followed = reference::Bellman(d, translation.rule(policy)).value();
            CHECK(last <= followed + relative(followed));
            if (search.exact()) CHECK_NEAR(last, followed, relative(followed));
            CHECK(last <= reference::optimum(d) + relative(followed));
        }
    }
}

TEST("a time limit that strikes while a search improves leaves what it has") {
    const CompiledModel model = teams::ring(30, 10, 1);
    for (const std::uint64_t looks : {300U, 1000U, 3000U}) {
        const testing::Context context("looks", looks);
        Monitor monitor = clocks::striking_after(looks);
        PolicySearch search(model, {}, monitor);
        while (monitor.stop() == Stop::none) search.improve(20'000'000);
        CHECK_NEAR(search.value(), teams::worth(model, search.policy()), relative(search.value()));
        CHECK(!search.improve(1'000'000'000));
    }
}

TEST("a search that is given a better policy takes it") {
    const CompiledModel model = teams::ring(14, 8, 4);
    Monitor monitor;
    PolicySearch first(model, {}, monitor);
    PolicySearch second(model, {}, monitor);
    first.improve(Monitor::kNoEnd, 28);
    CHECK(first.policy().clusters.empty());
    second.start(first.policy().otherwise);
    CHECK(second.value() >= first.value() - relative(first.value()));
    LocalPolicy wrong = first.policy().otherwise;
    wrong.action[0][0] = 7;
    CHECK_THROWS(std::invalid_argument, second.start(wrong));
    wrong.action.pop_back();
    CHECK_THROWS(std::invalid_argument, second.start(wrong));
}

TEST("a horizon of one, and an agent alone, are nothing special") {
    Description d = team(1, {one_state(3)});
    d.entries.push_back(entry(2.0, {when(d, 0, on_actions({1}))}));
    const CompiledModel model = compiled(d);
    Monitor monitor;
    PolicySearch search(model, {}, monitor);
    CHECK(!search.improve(Monitor::kNoEnd));
    CHECK(search.value() == 2.0);
    CHECK(search.exact());
}

TEST("a horizon of 100000 stages does not keep a search from answering") {
    Description d = team(100'000, {one_state(2), one_state(2)});
    d.entries.push_back(entry(1.0, {when(d, 0, on_actions({1})), when(d, 1, on_actions({1}))}));
    d.entries.push_back(entry(-0.25, {when(d, 0, on_actions({1}))}));
    const CompiledModel model = compiled(d);
    Monitor monitor;
    PolicySearch search(model, {}, monitor);
    search.improve(100'000'000);
    CHECK(search.value() >= 0.0);
    CHECK(search.value() <= 75'000.0);
}

}  // namespace
}  // namespace coreplan
