#include "policies/rollout.hpp"

#include <limits>

#include "check.hpp"
#include "policies.hpp"
#include "policies/profile.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double constants(const CompiledModel& model, Index from = 0) {
    double total = 0;
    for (Index l = from; l < model.layer_count(); ++l) total += model.constant_at[l];
    return total;
}

double slack(const CompiledModel& model, double value) {
    return relative(value, model.unit_mass ? 1e-9 : 1e-6);
}

struct Setting {
    explicit Setting(std::uint64_t seed)
        : description(any_team(seed)),
          translation(description, seed % 2 == 0),
          outlooks(translation.model(), kNoLimit, monitor) {
        ProfileSearch search(translation.model(), seed, 4, monitor);
        for (int k = 0; k < 6; ++k) search.attempt();
        for (const Profile& profile : search.best()) {
            profiles.push_back(profile);
            bases.push_back(outlooks.add(profile.policy));
        }
        alone = independent_bounds(translation.model(), monitor).policy;
        bases.push_back(outlooks.add(alone, root_of(translation.model())));
    }
    const CompiledModel& model() const { return translation.model(); }
    TeamPolicy policy_of(const Rollout& rollout) const {
        TeamPolicy policy{profiles[0].policy, {}};
        Cluster& cluster = policy.clusters.emplace_back();
        for (std::size_t i = 0; i < model().agents.size(); ++i) {
            cluster.agents.push_back(as<AgentId>(i));
        }
        cluster.table = rollout.table();
        return policy;
    }

    Description description;
    policies::Translation translation;
    Monitor monitor;
    Outlooks outlooks;
    std::vector<Profile> profiles;
    std::vector<std::shared_ptr<const Base>> bases;
    LocalPolicy alone;
};

TEST("a rollout's value is what its policy is worth, at least every base's, at most the optimum") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        Setting setting(seed);
        const CompiledModel& model = setting.model();
        Rollout rollout(setting.outlooks, setting.bases, {}, setting.monitor);
        CHECK(rollout.run());
        CHECK(rollout.exact());
        const TeamPolicy policy = setting.policy_of(rollout);
        const double value = rollout.value() + constants(model);
        const double followed =
            reference::Bellman(setting.description, setting.translation.rule(policy)).value();
        CHECK_NEAR(value, followed, slack(model, followed));
        const double best = reference::optimum(setting.description);
        CHECK(value <= best + slack(model, best));
        Lookup lookup(setting.outlooks);
        for (Index l = 0; l < model.layer_count(); ++l) {
            const RolloutLayer& layer = rollout.layers()[l];
            double mass = 0;
            for (std::size_t s = 0; s < layer.size(); ++s) {
                mass += layer.reach[s];
                const auto classes = layer.states[s];
                const double room = slack(model, layer.value[s]);
                CHECK(layer.value[s] >= layer.best_q[s] - room);
                CHECK(layer.best_q[s] >= layer.base_value[s] - room);
                for (const auto& base : setting.bases) {
                    if (base->mark(l, classes) == AgentOutlook::kUnknown) continue;
                    CHECK(layer.base_value[s] >= lookup.value(*base, classes) - room);
                }
            }
            CHECK_NEAR(mass, 1.0, 1e-6);
        }
    }
}

TEST(
    "with a cap the value is a lower bound on the policy's, still at least every base's at the "
    "root") {
    int capped = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        Setting setting(seed);
        const CompiledModel& model = setting.model();
        for (const std::size_t cap : {1U, 2U, 5U}) {
            const testing::Context with("cap", cap);
            Rollout rollout(setting.outlooks, setting.bases, {cap}, setting.monitor);
            CHECK(rollout.run());
            const TeamPolicy policy = setting.policy_of(rollout);
            const double value = rollout.value() + constants(model);
            const double followed =
                reference::Bellman(setting.description, setting.translation.rule(policy)).value();
            CHECK(value <= followed + slack(model, followed));
            if (rollout.exact()) CHECK_NEAR(value, followed, slack(model, followed));
            for (const Profile& profile : setting.profiles) {
                CHECK(rollout.value() >= profile.value - slack(model, profile.value));
            }
            for (const RolloutLayer& layer : rollout.layers()) CHECK(layer.size() <= cap);
            capped += rollout.exact() ? 0 : 1;
        }
    }
    CHECK(capped > 100);
}

TEST("a rollout that is cut at a layer is exact") {
    int cuts = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        Setting setting(seed);
        const CompiledModel& model = setting.model();
        for (const std::size_t cap : {1U, 4U}) {
            Rollout rollout(setting.outlooks, setting.bases, {cap, true}, setting.monitor);
            CHECK(rollout.run());
            CHECK(rollout.exact());
            const TeamPolicy policy = setting.policy_of(rollout);
            const double value = rollout.value() + constants(model);
            const double followed =
                reference::Bellman(setting.description, setting.translation.rule(policy)).value();
            CHECK_NEAR(value, followed, slack(model, followed));
            cuts += rollout.decided_layers() < model.layer_count() ? 1 : 0;
        }
    }
    CHECK(cuts > 100);
}

TEST("threads and pauses do not change a rollout") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const testing::Context context("seed", seed);
        Setting setting(seed);
        Rollout one(setting.outlooks, setting.bases, {50, false, 4, 0, 1}, setting.monitor);
        Rollout many(setting.outlooks, setting.bases, {50, false, 4, 0, 3}, setting.monitor);
        const std::uint64_t begin = setting.monitor.work();
        one.run();
        const std::uint64_t between = setting.monitor.work();
        while (!many.run(0)) {
        }
        CHECK(setting.monitor.work() - between == between - begin);
        CHECK(one.value() == many.value());
        CHECK(one.table().classes == many.table().classes);
        CHECK(one.table().actions == many.table().actions);
    }
}

TEST("a rollout gives its memory back") {
    Setting setting(8);
    const double before = setting.monitor.reserved();
    {
        Rollout rollout(setting.outlooks, setting.bases, {}, setting.monitor);
        CHECK(setting.monitor.reserved() > before);
        rollout.run();
    }
    CHECK(setting.monitor.reserved() == before);
}

}  // namespace
}  // namespace coreplan
