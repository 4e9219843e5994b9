#include "search/group_bound.hpp"

#include <functional>
#include <limits>

#include "check.hpp"
#include "groups.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;
using groups::Classes;

constexpr double kNone = -std::numeric_limits<double>::infinity();

struct Case {
    Case(CompiledModel made, int rounds, int grown, double bytes = Monitor::kNoLimit)
        : model(std::move(made)),
          own(Monitor::kNoLimit, bytes),
          relaxation(model, {}, own),
          couplings(model, monitor),
          room(1e9),
          shapes(model, couplings, room, monitor),
          bound(worked(relaxation, rounds, grown), shapes, 1, monitor),
          eye(bound.eye()) {
        shapes.set_prepare([this](Shape& shape, Monitor& other) { bound.prepare(shape, other); });
        const double scale = reward_scale(model);
        slack = (model.unit_mass ? 1e-12 : 1e-7) * std::max(1.0, scale);
    }
    Relaxation& worked(Relaxation& made, int rounds, int grown) {
        for (int k = 0; k < rounds; ++k) made.step(kNone, own);
        for (int k = 0; k < grown; ++k) made.grow(1e18, 100, own);
        return made;
    }
    Monitor monitor;
    CompiledModel model;
    Monitor own;
    Relaxation relaxation;
    Couplings couplings;
    Room room;
    Shapes shapes;
    RelaxationBound bound;
    std::unique_ptr<GroupBound::Eye> eye;
    double slack = 0;
};

// Groups that the search can get to: those who are still linked, and what is left of them.
void for_each_reachable_group(
    Case& c, int rounds, std::mt19937_64& random,
    const std::function<void(Shape&, Index, std::span<const Status>)>& visit) {
    const auto everyone = c.model.everyone();
    for (int round = 0; round < rounds; ++round) {
        const auto layer = static_cast<Index>(random() % c.model.layer_count());
        const auto where = groups::somewhere(c.model, everyone, layer, 0.4, random);
        std::vector<Index> lists;
        for (std::size_t i = 0; i < everyone.size(); ++i) {
            lists.push_back(where[i].revealed()
                                ? c.couplings.list(everyone[i], where[i].class_id())
                                : c.couplings.list(everyone[i], where[i].after_id()));
        }
        for (const auto& group : groups::together(c.model, c.couplings, lists)) {
            std::vector<AgentId> agents;
            std::vector<Status> own;
            for (const Index i : group) {
                agents.push_back(AgentId{i});
                own.push_back(where[i]);
            }
            visit(c.shapes.get(agents, c.monitor), layer, own);
        }
    }
}

TEST("no group that is reached earns more than its bound, also where clusters are cut") {
    std::mt19937_64 random(1);
    int cut = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed), seed % 3 != 0), static_cast<int>(seed % 7),
               seed % 5 == 0 ? 1 : 0);
        for_each_reachable_group(c, 12, random, [&](Shape& shape, Index layer, auto where) {
            groups::Exact exact(c.model, shape.agents);
            CHECK(c.eye->upper(shape, layer, where) + c.relaxation.error() >=
                  exact.value(layer, where) - c.slack);
            for (std::size_t k = 0; k < c.relaxation.cluster_count(); ++k) {
                std::size_t common = 0;
                for (const AgentId each : c.relaxation.agents_of(k)) {
                    if (position_in(shape.agents, each) < shape.size()) ++common;
                }
                if (common > 0 && common < c.relaxation.agents_of(k).size()) ++cut;
            }
        });
    }
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(5, 4, seed, seed % 2 == 1), 4, 0);
        for_each_reachable_group(c, 6, random, [&](Shape& shape, Index layer, auto where) {
            groups::Exact exact(c.model, shape.agents);
            CHECK(c.eye->upper(shape, layer, where) >= exact.value(layer, where) - c.slack);
        });
    }
    CHECK(cut > 100);
}

TEST("at the root the bound is the relaxation's") {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed)), static_cast<int>(seed % 9), seed % 4 == 0 ? 1 : 0);
        const Shape& shape = c.shapes.get(c.model.everyone(), c.monitor);
        const std::vector<Status> start(c.model.agents.size(), Status(ClassId{0}));
        const double upper = c.eye->upper(shape, 0, start);
        CHECK_NEAR(upper + c.relaxation.error(), c.relaxation.upper(), c.slack + 1e-9);
    }
}

TEST("an action's terms cover its reward and the bounds of wherever it leads") {
    std::mt19937_64 random(2);
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed), seed % 3 != 0), static_cast<int>(seed % 5), 0);
        const auto everyone = c.model.everyone();
        for (int round = 0; round < 4; ++round) {
            const Shape& shape = c.shapes.get(everyone, c.monitor);
            const auto layer = static_cast<Index>(random() % c.model.layer_count());
            const auto where = groups::somewhere(c.model, everyone, layer, 0.0, random);
            Classes classes;
            for (const Status each : where) classes.push_back(each.class_id());
            std::vector<ActionTerm> terms;
            c.eye->terms(shape, layer, classes, terms);
            const auto choices = groups::choices_of(c.model, everyone, classes);
            std::vector<Index> actions(everyone.size(), 0);
            double best = kNone;
            do {
                double promised = 0;
                for (const ActionTerm& term : terms) {
                    std::size_t cell = 0;
                    for (const Index m : term.agents) cell = cell * choices[m] + actions[m];
                    promised += term.value.at(cell);
                }
                best = std::max(best, promised);
                const auto afters = groups::afters_of(c.model, everyone, classes, actions);
                double reward = groups::own_reward(c.model, everyone, classes, actions) +
                                groups::interaction_reward(c.model, everyone, layer, afters);
                std::vector<Status> next;
                for (const AfterId after : afters) next.emplace_back(after);
                if (layer + 1 < c.model.layer_count()) {
                    // Said of hidden outcomes, and of every one of them.
                    double later = 0;
                    for (const auto& [row, chance] : groups::revealed(c.model, everyone, next)) {
                        const std::vector<Status> there(row.begin(), row.end());
                        later += chance * c.eye->upper(shape, layer + 1, there);
                    }
                    CHECK_NEAR(c.eye->upper(shape, layer + 1, next), later, 10 * c.slack);
                    reward += later;
                }
                CHECK(promised >= reward - c.slack - c.relaxation.error());
            } while (groups::count_on(actions, choices));
            CHECK(best <= c.eye->upper(shape, layer, where) + c.slack);
        }
    }
}

TEST("interactions that a relaxation bounds coarsely are bounded here as well") {
    std::mt19937_64 random(3);
    int coarse = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        for (const double bytes : {3e3, 4e3, 6e3, 8e3, 12e3}) {
            try {
                Case c(compiled(any_team(seed)), 2, 0, bytes);
                if (c.relaxation.coarse() == 0) continue;
                ++coarse;
                for_each_reachable_group(c, 4, random, [&](Shape& shape, Index layer, auto where) {
                    groups::Exact exact(c.model, shape.agents);
                    CHECK(c.eye->upper(shape, layer, where) >= exact.value(layer, where) - c.slack);
                });
            } catch (const LimitReached&) {
                continue;  // not even agents alone
            }
        }
    }
    CHECK(coarse > 10);
}

TEST("tables that find no room are refused") {
    const CompiledModel model = teams::ring(5, 6, 1);
    Monitor monitor;
    const Relaxation relaxation(model, {}, monitor);
    const Couplings couplings(model, monitor);
    CHECK(RelaxationBound::bytes(relaxation, model) > 0.0);
    Room room(10);
    const Shapes shapes(model, couplings, room, monitor);
    CHECK_THROWS(LimitReached, RelaxationBound(relaxation, shapes, 1, monitor));
}

}  // namespace
}  // namespace coreplan
