#include "search/shapes.hpp"

#include <algorithm>

#include "check.hpp"
#include "clocks.hpp"
#include "groups.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;
using groups::Classes;

struct Case {
    explicit Case(CompiledModel made, double bytes = 1e9)
        : model(std::move(made)),
          couplings(model, monitor),
          room(bytes),
          shapes(model, couplings, room, monitor) {}
    [[nodiscard]] double slack(double value) const {
        return relative(value, model.unit_mass ? 1e-9 : 1e-7);
    }
    Monitor monitor;
    CompiledModel model;
    Couplings couplings;
    Room room;
    Shapes shapes;
};

Classes classes_of(std::span<const Status> where) {
    Classes classes;
    for (const Status each : where) classes.push_back(each.class_id());
    return classes;
}

TEST("a status is a class or an after-state, and remembers which") {
    const Status known(ClassId{7});
    const Status hidden(AfterId{7});
    CHECK(known.revealed());
    CHECK(!hidden.revealed());
    CHECK(known.class_id() == ClassId{7});
    CHECK(hidden.after_id() == AfterId{7});
    CHECK(!(known == hidden));
    CHECK(known == Status(ClassId{7}));
    CHECK(known.code() != hidden.code());
}

TEST("room is shared out until there is none, and can be given back") {
    Room room(100);
    CHECK(room.take(60));
    CHECK(!room.take(60));
    CHECK(room.left() == 40.0);
    CHECK(room.take(40));
    room.give_back(30);
    CHECK(room.take(30));
    CHECK(!room.take(1));
}

TEST("a shape is made once, and knows its agents, bonds and pairs") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed)));
        std::size_t prepared = 0;
        c.shapes.set_prepare([&](Shape&, Monitor&) { ++prepared; });
        const auto all = groups::subsets(c.model);
        for (int round = 0; round < 2; ++round) {
            for (const auto& agents : all) {
                const Shape& shape = c.shapes.get(agents, c.monitor);
                CHECK(&shape == &c.shapes.get(agents, c.monitor));
                CHECK(shape.agents == agents);
                CHECK(shape.cells == team_cells(c.model, agents));
                std::size_t inside = 0;
                for (const auto& bond : c.couplings.bonds()) {
                    if (std::ranges::includes(agents, bond.agents)) ++inside;
                }
                CHECK(shape.bonds.size() == inside);
                for (const Shape::BondAt& bond : shape.bonds) {
                    const auto& who = c.couplings.bonds()[bond.bond].agents;
                    CHECK(bond.places.size() == who.size());
                    for (std::size_t m = 0; m < who.size(); ++m) {
                        CHECK(agents[bond.places[m]] == who[m]);
                    }
                }
            }
        }
        CHECK(prepared == all.size());
        CHECK(c.shapes.all().size() == all.size());
    }
}

TEST("a shape whose preparation fails is not there, and is prepared again when asked for") {
    Case c(compiled(random_team(2)));
    int tries = 0;
    c.shapes.set_prepare([&](Shape&, Monitor&) {
        if (++tries == 1) throw LimitReached(Stop::memory_limit, "no room");
    });
    CHECK_THROWS(LimitReached, c.shapes.get(c.model.everyone(), c.monitor));
    CHECK(c.shapes.all().empty());
    CHECK(c.shapes.get(c.model.everyone(), c.monitor).agents == c.model.everyone());
    CHECK(tries == 2);
}

TEST("a group falls apart into those who are linked by what is alive, hidden outcomes or not") {
    std::mt19937_64 random(1);
    int apart = 0;
    const auto check = [&](Case& c) {
        const auto everyone = c.model.everyone();
        const Shape& shape = c.shapes.get(everyone, c.monitor);
        for (int round = 0; round < 10; ++round) {
            const auto layer = static_cast<Index>(random() % c.model.layer_count());
            const auto where = groups::somewhere(c.model, everyone, layer, 0.3, random);
            std::vector<Index> lists;
            for (std::size_t i = 0; i < everyone.size(); ++i) {
                lists.push_back(where[i].revealed()
                                    ? c.couplings.list(everyone[i], where[i].class_id())
                                    : c.couplings.list(everyone[i], where[i].after_id()));
            }
            std::vector<Index> part_of;
            const Index parts = c.shapes.split(shape, lists, part_of);
            const auto expected = groups::together(c.model, c.couplings, lists);
            CHECK(parts == expected.size());
            for (std::size_t p = 0; p < expected.size(); ++p) {
                for (const Index m : expected[p]) CHECK(part_of[m] == p);
            }
            if (parts > 1 && parts < everyone.size()) ++apart;
        }
    };
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        Case small(compiled(any_team(seed), seed % 3 != 0));
        check(small);
        if (seed % 10 != 0) continue;
        Case large(teams::ring(9, 6, seed));
        check(large);
    }
    CHECK(apart > 50);
}

TEST("interactions among the agents of a group are counted, others are not") {
    std::mt19937_64 random(2);
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed), seed % 3 != 0));
        for (const auto& agents : groups::subsets(c.model)) {
            const Shape& shape = c.shapes.get(agents, c.monitor);
            const auto layer = static_cast<Index>(random() % c.model.layer_count());
            std::vector<AfterId> afters;
            for (const AgentId each : agents) {
                const auto& begin = c.model.agents[at(each)].after_layer_begin;
                afters.push_back(
                    AfterId{begin[layer] +
                            static_cast<Index>(random() % (begin[layer + 1] - begin[layer]))});
            }
            CHECK_NEAR(c.shapes.interactions(shape, layer, afters),
                       groups::interaction_reward(c.model, agents, layer, afters), 1e-9);
        }
    }
}

TEST(
    "a group's table is what it earns at best from any joint state, hidden outcomes being "
    "averaged") {
    std::mt19937_64 random(3);
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed), seed % 3 != 0));
        for (const auto& agents : groups::subsets(c.model)) {
            Shape& shape = c.shapes.get(agents, c.monitor);
            CHECK(c.shapes.solve(shape, 1 + static_cast<unsigned>(seed % 2), c.monitor));
            const ValueTable* table = shape.exact.load();
            CHECK(table != nullptr);
            if (table == nullptr) continue;
            CHECK(c.shapes.solve(shape, 1, c.monitor));
            CHECK(shape.exact.load() == table);
            groups::Exact exact(c.model, agents);
            const double root = exact.root();
            CHECK_NEAR(table->values[0], root, c.slack(root));
            for (const double hidden : {0.0, 0.4, 1.0}) {
                const auto layer = static_cast<Index>(random() % c.model.layer_count());
                const auto where = groups::somewhere(c.model, agents, layer, hidden, random);
                const double value = exact.value(layer, where);
                CHECK_NEAR(c.shapes.look_up(*table, layer, agents, shape.places, where), value,
                           c.slack(value));
            }
        }
    }
}

TEST("a table is looked up for some agents of a group, in the table's order") {
    std::mt19937_64 random(4);
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed)));
        const auto everyone = c.model.everyone();
        for (const auto& agents : groups::subsets(c.model)) {
            Shape& shape = c.shapes.get(agents, c.monitor);
            CHECK(c.shapes.solve(shape, 1, c.monitor));
            std::vector<Index> places;
            for (const AgentId each : agents) places.push_back(static_cast<Index>(at(each)));
            const auto layer = static_cast<Index>(random() % c.model.layer_count());
            const auto where = groups::somewhere(c.model, everyone, layer, 0.4, random);
            std::vector<Status> own;
            for (const Index m : places) own.push_back(where[m]);
            groups::Exact exact(c.model, agents);
            const double value = exact.value(layer, own);
            CHECK_NEAR(c.shapes.look_up(*shape.exact.load(), layer, everyone, places, where), value,
                       c.slack(value));
        }
    }
}

TEST("joint actions are worth their rewards and what the table says of afterwards") {
    std::mt19937_64 random(5);
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        const testing::Context context("seed", seed);
        Case c(compiled(any_team(seed), seed % 3 != 0));
        for (const auto& agents : groups::subsets(c.model)) {
            Shape& shape = c.shapes.get(agents, c.monitor);
            CHECK(c.shapes.solve(shape, 1, c.monitor));
            const Team team = c.shapes.team_of(shape);
            groups::Exact exact(c.model, agents);
            for (const Index layer : {static_cast<Index>(random() % c.model.layer_count()),
                                      c.model.layer_count() - 1}) {
                const auto classes =
                    classes_of(groups::somewhere(c.model, agents, layer, 0.0, random));
                const auto values =
                    action_values(c.model, team, *shape.exact.load(), layer, classes);
                const auto choices = groups::choices_of(c.model, agents, classes);
                std::vector<Index> actions(agents.size(), 0);
                std::size_t k = 0;
                do {
                    const double value = exact.value(layer, classes, actions);
                    CHECK_NEAR(values.at(k++), value, c.slack(value));
                } while (groups::count_on(actions, choices));
                CHECK(values.size() == k);
            }
        }
    }
}

TEST("what finds no room is refused for good; what finds no time may be tried again") {
    Case tight(teams::ring(5, 6, 1), 100);
    Shape& shape = tight.shapes.get(tight.model.everyone(), tight.monitor);
    CHECK(!tight.shapes.solve(shape, 1, tight.monitor));
    CHECK(shape.refused.load());
    CHECK(shape.exact.load() == nullptr);
    CHECK(tight.room.left() == 100.0);

    Case hasty(compiled(crowd(3, 60, 30)), 1e9);
    Shape& large = hasty.shapes.get(hasty.model.everyone(), hasty.monitor);
    Monitor soon = clocks::striking_after(3);
    CHECK(!hasty.shapes.solve(large, 1, soon));
    CHECK(!large.refused.load());
    CHECK(large.exact.load() == nullptr);
    CHECK(hasty.room.left() == 1e9);
}

}  // namespace
}  // namespace coreplan
