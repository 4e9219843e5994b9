#include "search/group_floor.hpp"

#include <algorithm>
#include <limits>

#include "check.hpp"
#include "groups.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;
using groups::Classes;

struct Case {
    Case(CompiledModel made, int policies, std::mt19937_64& random)
        : model(std::move(made)),
          given(policies_of(policies, random)),
          couplings(model, monitor),
          room(1e9),
          shapes(model, couplings, room, monitor),
          floor(model, given, monitor) {
        shapes.set_prepare([this](Shape& shape, Monitor&) { floor.prepare(shape); });
        slack = (model.unit_mass ? 1e-12 : 1e-7) * std::max(1.0, reward_scale(model));
    }
    std::vector<LocalPolicy> policies_of(int count, std::mt19937_64& random) const {
        std::vector<LocalPolicy> made;
        for (int k = 0; k < count; ++k) made.push_back(groups::random_policy(model, random));
        return made;
    }
    Monitor monitor;
    CompiledModel model;
    std::vector<LocalPolicy> given;
    Couplings couplings;
    Room room;
    Shapes shapes;
    BaseFloor floor;
    double slack = 0;
};

// What a group earns that follows a policy of single agents for ever.
double followed(const CompiledModel& model, const LocalPolicy& policy,
                std::span<const AgentId> agents, Index layer, std::span<const Status> where) {
    double total = 0;
    std::map<Classes, double> here;
    for (const auto& [row, chance] : groups::revealed(model, agents, where)) here[row] += chance;
    for (; layer < model.layer_count(); ++layer) {
        std::map<Classes, double> next;
        for (const auto& [classes, chance] : here) {
            std::vector<Index> actions;
            for (std::size_t m = 0; m < agents.size(); ++m) {
                actions.push_back(policy.action[at(agents[m])][at(classes[m])]);
            }
            const auto afters = groups::afters_of(model, agents, classes, actions);
            total += chance * (groups::own_reward(model, agents, classes, actions) +
                               groups::interaction_reward(model, agents, layer, afters));
            std::vector<Status> reached;
            for (const AfterId after : afters) reached.emplace_back(after);
            for (const auto& [row, probability] : groups::revealed(model, agents, reached)) {
                next[row] += chance * probability;
            }
        }
        here = std::move(next);
    }
    return total;
}

TEST("a floor is the best of its policies, the usual one the first, and below the optimum") {
    std::mt19937_64 random(1);
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed), seed % 3 != 0), 1 + static_cast<int>(seed % 3), random);
        CHECK(c.floor.bases() == c.given.size());
        const auto eye = c.floor.eye();
        for (const auto& agents : groups::subsets(c.model)) {
            const Shape& shape = c.shapes.get(agents, c.monitor);
            groups::Exact exact(c.model, agents);
            for (const double hidden : {0.0, 0.5, 1.0}) {
                const auto layer = static_cast<Index>(random() % c.model.layer_count());
                const auto where = groups::somewhere(c.model, agents, layer, hidden, random);
                double best = -std::numeric_limits<double>::infinity();
                for (const LocalPolicy& policy : c.given) {
                    best = std::max(best, followed(c.model, policy, agents, layer, where));
                }
                const double lower = eye->lower(shape, layer, where);
                CHECK_NEAR(lower, best, c.slack);
                CHECK_NEAR(eye->usual(shape, layer, where),
                           followed(c.model, c.given[0], agents, layer, where), c.slack);
                CHECK(lower <= exact.value(layer, where) + c.slack);
            }
        }
    }
}

TEST("hidden outcomes are averaged before the best policy is chosen") {
    std::mt19937_64 random(2);
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed)), 3, random);
        const auto eye = c.floor.eye();
        const auto everyone = c.model.everyone();
        const Shape& shape = c.shapes.get(everyone, c.monitor);
        for (int round = 0; round < 5; ++round) {
            const auto layer = static_cast<Index>(random() % c.model.layer_count());
            const auto where = groups::somewhere(c.model, everyone, layer, 0.6, random);
            double lower = 0;
            double usual = 0;
            for (const auto& [row, chance] : groups::revealed(c.model, everyone, where)) {
                const std::vector<Status> there(row.begin(), row.end());
                lower += chance * eye->lower(shape, layer, there);
                usual += chance * eye->usual(shape, layer, there);
            }
            CHECK(eye->lower(shape, layer, where) <= lower + c.slack);
            CHECK_NEAR(eye->usual(shape, layer, where), usual, c.slack);
        }
    }
}

TEST("who does as told and asks again earns no less than what was said") {
    std::mt19937_64 random(3);
    int better = 0;
    const auto check = [&](Case& c, Classes classes, Index layer) {
        const auto everyone = c.model.everyone();
        const Shape& shape = c.shapes.get(everyone, c.monitor);
        const auto eye = c.floor.eye();
        const std::vector<Status> where(classes.begin(), classes.end());
        std::vector<Index> actions;
        eye->act(shape, layer, where, actions);
        CHECK(actions.size() == everyone.size());
        const auto choices = groups::choices_of(c.model, everyone, classes);
        for (std::size_t i = 0; i < actions.size(); ++i) CHECK(actions[i] < choices[i]);
        const auto afters = groups::afters_of(c.model, everyone, classes, actions);
        double value = groups::own_reward(c.model, everyone, classes, actions) +
                       groups::interaction_reward(c.model, everyone, layer, afters);
        std::vector<Status> next;
        for (const AfterId after : afters) next.emplace_back(after);
        if (layer + 1 < c.model.layer_count()) {
            for (const auto& [row, chance] : groups::revealed(c.model, everyone, next)) {
                const std::vector<Status> there(row.begin(), row.end());
                value += chance * eye->lower(shape, layer + 1, there);
            }
        }
        const double said = eye->lower(shape, layer, where);
        CHECK(value >= said - c.slack);
        if (value > said + 1e-6) ++better;
    };
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed), seed % 3 != 0), 4, random);
        for (int round = 0; round < 4; ++round) {
            const auto layer = static_cast<Index>(random() % c.model.layer_count());
            Classes classes;
            for (const Status each :
                 groups::somewhere(c.model, c.model.everyone(), layer, 0.0, random)) {
                classes.push_back(each.class_id());
            }
            check(c, classes, layer);
        }
    }
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(7, 6, seed, seed % 2 == 1), 4, random);
        check(c, Classes(7, ClassId{0}), 0);
    }
    CHECK(better > 20);
}

TEST("without a policy there is no floor") {
    const CompiledModel model = compiled(random_team(1));
    Monitor monitor;
    CHECK_THROWS(LimitReached, BaseFloor(model, std::vector<LocalPolicy>{}, monitor));
}

}  // namespace
}  // namespace coreplan
