#include "search/couplings.hpp"

#include <algorithm>
#include <set>

#include "check.hpp"
#include "groups.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;
using groups::Classes;

using Moments = std::set<std::pair<SignalId, Index>>;

Moments moments_of(const Couplings& couplings, AgentId agent, Index list) {
    Moments moments;
    for (const SignalRun& run : couplings.runs(agent, list)) {
        for (Index t = run.first; t <= run.last; ++t) moments.emplace(run.signal, t);
    }
    return moments;
}

// Everything that can be followed from where agents stand: does one of the interactions happen, or
// do both add to an aggregate?
bool happens(const CompiledModel& model, const Couplings::Bond& bond, Index layer,
             std::span<const Status> where) {
    std::set<Classes> here;
    for (const auto& [classes, chance] : groups::revealed(model, bond.agents, where)) {
        if (chance > 0) here.insert(classes);
    }
    for (; layer < model.layer_count(); ++layer) {
        std::set<Classes> next;
        for (const Classes& classes : here) {
            const auto choices = groups::choices_of(model, bond.agents, classes);
            std::vector<Index> actions(choices.size(), 0);
            do {
                const auto afters = groups::afters_of(model, bond.agents, classes, actions);
                for (const Index e : bond.interactions) {
                    const CompiledInteraction& interaction = model.interactions[e];
                    double product = interaction.value_at(model.first_stage + layer);
                    for (const InteractionMember& member : interaction.members) {
                        const auto m = position_in(bond.agents, member.agent);
                        product *=
                            model.agents[at(member.agent)].chance(at(afters[m]), member.signal);
                    }
                    if (product != 0) return true;
                }
                for (const Index e : bond.aggregates) {
                    const CompiledAggregate& aggregate = model.aggregates[e];
                    if (!aggregate.counts_at(layer)) continue;
                    std::size_t adding = 0;
                    for (const AggregateMember& member : aggregate.members) {
                        const auto m = position_in(bond.agents, member.agent);
                        if (m < afters.size() && model.units(member, afters[m]) > 0) ++adding;
                    }
                    if (adding == 2) return true;
                }
                std::vector<Status> reached;
                for (const AfterId after : afters) reached.emplace_back(after);
                for (const auto& [row, chance] : groups::revealed(model, bond.agents, reached)) {
                    if (chance > 0) next.insert(row);
                }
            } while (groups::count_on(actions, choices));
        }
        here = std::move(next);
    }
    return false;
}

bool is_alive(const Couplings& couplings, std::size_t bond, std::span<const Status> where) {
    std::vector<Index> lists;
    const auto& agents = couplings.bonds()[bond].agents;
    for (std::size_t m = 0; m < agents.size(); ++m) {
        lists.push_back(where[m].revealed() ? couplings.list(agents[m], where[m].class_id())
                                            : couplings.list(agents[m], where[m].after_id()));
    }
    return couplings.alive(bond, lists);
}

TEST("an after-state can take part in what any of its outcomes can, and equal lists are one") {
    std::size_t united = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed), seed % 3 != 0);
        Monitor monitor;
        const Couplings couplings(model, monitor);
        for (const AgentId who : model.everyone()) {
            const CompiledAgent& agent = model.agents[at(who)];
            const std::size_t of_classes =
                1 + *std::ranges::max_element(couplings.lists_of_classes(who));
            for (std::size_t k = 0; k + 1 < agent.outcome_begin.size(); ++k) {
                Moments all;
                for (Index o = agent.outcome_begin[k]; o < agent.outcome_begin[k + 1]; ++o) {
                    const Index list = couplings.list(who, agent.outcome_next[o]);
                    CHECK(list == couplings.lists_of_classes(who)[at(agent.outcome_next[o])]);
                    all.merge(moments_of(couplings, who, list));
                }
                const Index list = couplings.list(who, as<AfterId>(k));
                CHECK(moments_of(couplings, who, list) == all);
                if (list >= of_classes) ++united;
            }
            std::set<Moments> different;
            for (Index list = 0; list < couplings.list_count(who); ++list) {
                const auto runs = couplings.runs(who, list);
                CHECK(different.insert(moments_of(couplings, who, list)).second);
                for (std::size_t r = 1; r < runs.size(); ++r) {
                    CHECK((runs[r - 1].signal < runs[r].signal ||
                           runs[r - 1].last + 1 < runs[r].first));
                }
            }
        }
    }
    CHECK(united > 3);
}

TEST("bonds hold every interaction that can happen, once, and every pair of an aggregate") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        Monitor monitor;
        const Couplings couplings(model, monitor);
        std::set<std::vector<AgentId>> teams;
        std::size_t held = 0;
        std::size_t pairs = 0;
        for (const Couplings::Bond& bond : couplings.bonds()) {
            CHECK(std::ranges::is_sorted(bond.agents));
            CHECK(teams.insert(bond.agents).second);
            for (const Index e : bond.interactions) {
                CHECK(model.interactions[e].members.size() == bond.agents.size());
                for (const InteractionMember& member : model.interactions[e].members) {
                    CHECK(position_in(bond.agents, member.agent) < bond.agents.size());
                }
                ++held;
            }
            pairs += bond.aggregates.size();
            for (const Index e : bond.aggregates) {
                CHECK(bond.agents.size() == 2);
                for (const AgentId who : bond.agents) {
                    CHECK(std::ranges::count(model.aggregates[e].members, who,
                                             &AggregateMember::agent) == 1);
                }
            }
        }
        CHECK(held == std::ranges::count_if(
                          model.interactions,
                          [](const CompiledInteraction& each) { return !each.values.empty(); }));
        for (const CompiledAggregate& each : model.aggregates) {
            const std::size_t members = each.members.size();
            if (!each.layers.empty()) pairs -= members * (members - 1) / 2;
        }
        CHECK(pairs == 0);
    }
}

TEST("a bond is alive exactly if one of its interactions can still happen") {
    std::mt19937_64 random(1);
    int alive = 0;
    int dead = 0;
    int wide = 0;
    int hidden = 0;
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed), seed % 3 != 0);
        Monitor monitor;
        const Couplings couplings(model, monitor);
        for (std::size_t b = 0; b < couplings.bonds().size(); ++b) {
            const Couplings::Bond& bond = couplings.bonds()[b];
            for (int round = 0; round < 6; ++round) {
                const auto layer = static_cast<Index>(random() % model.layer_count());
                const auto where = groups::somewhere(model, bond.agents, layer, 0.4, random);
                const bool expected = happens(model, bond, layer, where);
                CHECK(is_alive(couplings, b, where) == expected);
                CHECK(is_alive(couplings, b, where) == expected);  // now from memory
                (expected ? alive : dead) += 1;
                if (bond.agents.size() > 2) ++wide;
                if (std::ranges::any_of(where, [](Status s) { return !s.revealed(); })) ++hidden;
            }
        }
    }
    CHECK(alive > 100);
    CHECK(dead > 50);
    CHECK(wide > 50);
    CHECK(hidden > 50);
}

TEST("three agents that meet two by two, but never all at once, are not bound") {
    // Each acts once, at a stage of its own choice among those open to it.
    const auto once = [](std::vector<std::pair<Index, Index>> open) {
        std::vector<Choice> choices{{0, 0, {{0}}}, {1, 0, {{1}}}};
        for (const auto& [first, last] : open) choices.push_back({0, 1, {{1}}, first, last});
        return agent(2, 2, std::move(choices));
    };
    for (const bool all_at_once : {false, true}) {
        const testing::Context context("all at once", all_at_once);
        Description d = team(4, {once({{0, 1}}), once({{1, 2}}), once({{0, 0}, {2, 2}})});
        if (all_at_once) d.agents[2] = once({{0, 2}});
        std::vector<Member> members;
        for (Index i = 0; i < 3; ++i) members.push_back(when(d, i, on_actions({1})));
        d.entries.push_back(entry(2.0, members));
        const CompiledModel model = compiled(d);
        Monitor monitor;
        const Couplings couplings(model, monitor);
        for (std::size_t b = 0; b < couplings.bonds().size(); ++b) {
            const std::vector<Status> start(couplings.bonds()[b].agents.size(), Status(ClassId{0}));
            CHECK(is_alive(couplings, b, start) == all_at_once);
            CHECK(happens(model, couplings.bonds()[b], 0, start) == all_at_once);
        }
    }
}

TEST("an interaction of some stages only binds while such a stage lies ahead, hole or not") {
    Description d = team(7, {one_state(2), one_state(2)});
    d.entries.push_back(entry(-1.0, {when(d, 0, on_actions({1})), when(d, 1, on_actions({1}))},
                              std::vector<Index>{1, 4}));
    const CompiledModel model = compiled(d);
    Monitor monitor;
    const Couplings couplings(model, monitor);
    CHECK(couplings.bonds().size() == 1);
    for (Index layer = 0; layer < 7; ++layer) {
        const testing::Context context("layer", layer);
        std::vector<Status> where;
        for (const CompiledAgent& who : model.agents)
            where.emplace_back(ClassId{who.layer_begin[layer]});
        CHECK(is_alive(couplings, 0, where) == (layer <= 4));
    }
}

TEST("memory is counted and given back; with little of it nothing but answers is forgotten") {
    std::mt19937_64 random(2);
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        Monitor monitor;
        const Couplings plenty(model, monitor);
        for (double bytes = 1; bytes < 1e6; bytes *= 4) {
            Monitor tight(Monitor::kNoLimit, bytes);
            try {
                const Couplings couplings(model, tight);
                CHECK(tight.reserved() <= bytes);
                for (std::size_t b = 0; b < plenty.bonds().size(); ++b) {
                    const auto layer = static_cast<Index>(random() % model.layer_count());
                    const auto where =
                        groups::somewhere(model, plenty.bonds()[b].agents, layer, 0.3, random);
                    CHECK(is_alive(couplings, b, where) == is_alive(plenty, b, where));
                }
            } catch (const LimitReached&) {
                CHECK(tight.reserved() == 0.0);
            }
            CHECK(tight.reserved() == 0.0);
        }
    }
}

}  // namespace
}  // namespace coreplan
