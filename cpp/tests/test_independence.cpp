#include "crg/independence.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <tuple>

#include "check.hpp"
#include "crgs.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;
using Indices = std::vector<Index>;
using Positions = std::vector<Indices>;

// One state; action 1 at these stages only.
AgentDescription at_stages(Index first, Index last) {
    return agent(1, 2, {{0, 0, {{0}}}, {0, 1, {{0}}, first, last}});
}

// Works in state 0 as long as it likes; action 1 leads to state 1, for good.
AgentDescription leaver() { return agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 1, {{1}}}}); }

void pay_together(Description& d, const Indices& agents, const Condition& condition,
                  std::optional<Indices> stages = std::nullopt) {
    std::vector<Member> members;
    for (const Index i : agents) members.push_back(when(d, i, condition));
    d.entries.push_back(entry(1.0, std::move(members), std::move(stages)));
}

Index node_of(const LocalGraph& graph, Index layer, Index state) {
    for (Index k = graph.layer_begin[layer]; k < graph.layer_begin[layer + 1]; ++k) {
        if (graph.node_state[k] == StateId{state}) return k;
    }
    throw std::out_of_range("the state cannot be reached at this layer");
}

// The groups of these agents, each in the given state, at a layer.
Positions groups_of(WithCrgs& setup, Index layer, const Indices& agents, const Indices& states) {
    Indices nodes;
    for (std::size_t k = 0; k < agents.size(); ++k) {
        nodes.push_back(node_of(setup.graph(agents[k]), layer, states[k]));
    }
    return setup.crgs.independence().groups(agents, nodes).positions;
}

bool alone(WithCrgs& setup, std::size_t agent, Index layer, Index state) {
    return setup.crgs.independence().locally_independent(agent,
                                                         node_of(setup.graph(agent), layer, state));
}

TEST("agents are coupled only if all can match an entry at one and the same stage") {
    for (const auto& [first, last, coupled] :
         {std::tuple{0U, 1U, true}, std::tuple{2U, 3U, false}, std::tuple{1U, 3U, true}}) {
        const testing::Context context("from stage", first);
        Description d = team(4, {at_stages(0, 1), at_stages(first, last)});
        pay_together(d, {0, 1}, on_actions({1}));
        WithCrgs setup(d);
        const Positions expected = coupled ? Positions{{0, 1}} : Positions{{0}, {1}};
        CHECK(groups_of(setup, 0, {0, 1}, {0, 0}) == expected);
        CHECK(alone(setup, 0, 0, 0) == !coupled);
        CHECK(alone(setup, 1, 0, 0) == !coupled);
        // After stage 1 it is over in any case.
        CHECK(groups_of(setup, 2, {0, 1}, {0, 0}) == Positions{{0}, {1}});
        CHECK(alone(setup, 1, 2, 0));
    }
}

TEST("an entry counts at its stages only, and not at all if it is worth nothing") {
    Description d = team(5, {one_state(2), one_state(2)});
    pay_together(d, {0, 1}, on_actions({1}), Indices{3, 1});
    WithCrgs setup(d);
    for (Index layer = 0; layer < 4; ++layer) {
        CHECK(groups_of(setup, layer, {0, 1}, {0, 0}) == Positions{{0, 1}});
        CHECK(!alone(setup, 0, layer, 0));
    }
    CHECK(groups_of(setup, 4, {0, 1}, {0, 0}) == Positions{{0}, {1}});
    CHECK(alone(setup, 0, 4, 0));

    d.entries[0].value = 0;
    WithCrgs worthless(d);
    CHECK(worthless.crgs.independence().events().empty());
    CHECK(groups_of(worthless, 0, {0, 1}, {0, 0}) == Positions{{0}, {1}});
    CHECK(alone(worthless, 0, 0, 0));
}

TEST("stages are those of the problem, wherever planning starts") {
    Description d = team(5, {one_state(2), at_stages(3, 3)});
    d.first_stage = 2;
    pay_together(d, {0, 1}, on_actions({1}), Indices{0, 3});
    WithCrgs setup(d);
    CHECK(groups_of(setup, 0, {0, 1}, {0, 0}) == Positions{{0, 1}});
    CHECK(groups_of(setup, 1, {0, 1}, {0, 0}) == Positions{{0, 1}});
    CHECK(groups_of(setup, 2, {0, 1}, {0, 0}) == Positions{{0}, {1}});
}

TEST("who has left decouples, but who stays is on its own only if nobody at all can be there") {
    Description d = team(4, {leaver(), leaver()});
    pay_together(d, {0, 1}, on_actions({0}));
    WithCrgs setup(d);
    CHECK(groups_of(setup, 1, {0, 1}, {0, 0}) == Positions{{0, 1}});
    CHECK(groups_of(setup, 1, {0, 1}, {0, 1}) == Positions{{0}, {1}});
    CHECK(groups_of(setup, 1, {0, 1}, {1, 1}) == Positions{{0}, {1}});
    CHECK(alone(setup, 1, 1, 1));
    CHECK(!alone(setup, 0, 1, 0));
}

TEST("an entry of three agents is alive only with all three") {
    Description d = team(3, {leaver(), leaver(), leaver()});
    pay_together(d, {0, 1, 2}, on_actions({0}));
    WithCrgs setup(d);
    CHECK(groups_of(setup, 1, {0, 1, 2}, {0, 0, 0}) == Positions{{0, 1, 2}});
    CHECK(groups_of(setup, 1, {0, 1, 2}, {0, 0, 1}) == Positions{{0}, {1}, {2}});
    // The third one is in another group, so it is out of play already.
    CHECK(groups_of(setup, 1, {0, 1}, {0, 0}) == Positions{{0}, {1}});
}

TEST("groups are joined through others, come by their first agents and keep the order given") {
    Description d = team(3, std::vector<AgentDescription>(5, leaver()));
    pay_together(d, {3, 4}, on_actions({0}));
    pay_together(d, {0, 2}, on_actions({0}));
    pay_together(d, {0, 4}, on_actions({0}));
    WithCrgs setup(d);
    CHECK(groups_of(setup, 0, {0, 1, 2, 3, 4}, {0, 0, 0, 0, 0}) == Positions{{0, 2, 3, 4}, {1}});
    CHECK(groups_of(setup, 1, {0, 1, 2, 3, 4}, {0, 0, 0, 0, 1}) ==
          Positions{{0, 2}, {1}, {3}, {4}});
    CHECK(groups_of(setup, 1, {0, 1, 2, 3, 4}, {1, 0, 0, 0, 0}) ==
          Positions{{0}, {1}, {2}, {3, 4}});
    CHECK(groups_of(setup, 0, {4, 1, 3}, {0, 0, 0}) == Positions{{0, 2}, {1}});
}

TEST("answers are remembered, and stay where they are") {
    Description d = team(3, {leaver(), leaver()});
    pay_together(d, {0, 1}, on_actions({0}), Indices{2});
    WithCrgs setup(d);
    Independence& independence = setup.crgs.independence();
    const Indices both{0, 1};
    // What can still happen is the same at layers 0 and 1.
    const auto& first = independence.groups(both, Indices{0, 0});
    const Indices later{node_of(setup.graph(0), 1, 0), node_of(setup.graph(1), 1, 0)};
    CHECK(&independence.groups(both, Indices{0, 0}) == &first);
    for (Index layer = 1; layer < 3; ++layer) groups_of(setup, layer, {0, 1}, {1, 0});
    CHECK(&independence.groups(both, Indices{0, 0}) == &first);
    CHECK(independence.groups(both, later).positions == first.positions);
    CHECK(first.positions == Positions{{0, 1}});
}

// From the definitions: per node, when which conditions (of the description) can still be matched.
using Moments = std::set<std::pair<Index, Index>>;  // (condition, stage)

std::vector<Moments> moments_of(const Description& d, const LocalGraphs& graphs, std::size_t i) {
    const LocalGraph& graph = graphs.agents[i];
    const AgentDescription& who = d.agents[i];
    std::vector<Moments> result(graph.node_count());
    for (Index layer = graphs.stage_count(); layer-- > 0;) {
        for (Index node = graph.layer_begin[layer]; node < graph.layer_begin[layer + 1]; ++node) {
            for (Index arc = graph.arc_begin[graph.choice_begin[node]];
                 arc < graph.arc_begin[graph.choice_begin[node + 1]]; ++arc) {
                const auto t = static_cast<Index>(graph.arc_base[arc]);
                const reference::Origin from = reference::origin(who, t);
                for (Index c = 0; c < who.conditions.size(); ++c) {
                    if (reference::matches(who.conditions[c], from.state,
                                           who.choice_action[from.choice], who.outcome_next[t])) {
                        result[node].insert({c, graphs.first_stage + layer});
                    }
                }
                const Moments& next = result[at(graph.arc_next[arc])];
                result[node].insert(next.begin(), next.end());
            }
        }
    }
    return result;
}

class ByDefinition {
public:
    ByDefinition(const Description& d, const LocalGraphs& graphs)
        : entries_(graphs.rewards.interaction_entries), horizon_(graphs.horizon) {
        for (std::size_t i = 0; i < d.agents.size(); ++i) {
            moments_.push_back(moments_of(d, graphs, i));
        }
    }

    // Whether all members can match at some stage; `node_of` says where an agent is, or nothing.
    template <class NodeOf>
    [[nodiscard]] bool alive(const Entry& entry, NodeOf node_of) const {
        if (entry.value == 0) return false;
        for (Index stage = 0; stage < horizon_; ++stage) {
            if (entry.stages && std::ranges::find(*entry.stages, stage) == entry.stages->end()) {
                continue;
            }
            if (std::ranges::all_of(entry.members, [&](const Member& member) {
                    const std::optional<Index> node = node_of(at(member.agent));
                    return node &&
                           moments_[at(member.agent)][*node].contains({member.condition, stage});
                })) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] Positions groups(const Indices& agents, const Indices& nodes) const {
        Indices group(agents.size());
        std::iota(group.begin(), group.end(), Index{0});
        const auto where = [&](std::size_t agent) {
            return static_cast<std::size_t>(std::ranges::find(agents, agent) - agents.begin());
        };
        for (const Entry& entry : entries_) {
            const bool lives = alive(entry, [&](std::size_t agent) -> std::optional<Index> {
                if (where(agent) == agents.size()) return std::nullopt;
                return nodes[where(agent)];
            });
            if (!lives) continue;
            for (const Member& member : entry.members) {
                const Index old = group[where(at(member.agent))];
                std::ranges::replace(group, old, group[where(at(entry.members[0].agent))]);
            }
        }
        Positions result;
        std::vector<bool> done(agents.size(), false);
        for (Index k = 0; k < agents.size(); ++k) {
            if (done[k]) continue;
            auto& positions = result.emplace_back();
            for (Index m = k; m < agents.size(); ++m) {
                if (group[m] != group[k]) continue;
                positions.push_back(m);
                done[m] = true;
            }
        }
        return result;
    }

    // The others may be anywhere that they can get to; node 0 is where they start.
    [[nodiscard]] bool alone(std::size_t agent, Index node) const {
        return std::ranges::none_of(entries_, [&](const Entry& entry) {
            const bool takes_part = std::ranges::any_of(
                entry.members, [&](const Member& member) { return at(member.agent) == agent; });
            return takes_part && alive(entry, [&](std::size_t other) -> std::optional<Index> {
                       return other == agent ? node : 0;
                   });
        });
    }

private:
    const std::vector<Entry>& entries_;
    Index horizon_;
    std::vector<std::vector<Moments>> moments_;
};

TEST("groups and local independence are those of the definitions on random problems") {
    std::mt19937_64 random(5);
    int together = 0, apart = 0, on_their_own = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        WithCrgs setup(d, seed % 2 == 1);
        Independence& independence = setup.crgs.independence();
        const ByDefinition expected(d, setup.merged.graphs);
        for (std::size_t i = 0; i < d.agents.size(); ++i) {
            for (Index node = 0; node < setup.graph(i).node_count(); ++node) {
                CHECK(independence.locally_independent(i, node) == expected.alone(i, node));
                CHECK(setup.crgs.of(i).independent[node] == expected.alone(i, node));
                if (expected.alone(i, node)) ++on_their_own;
            }
        }
        for (int sample = 0; sample < 20; ++sample) {
            const auto layer = static_cast<Index>(random() % setup.full.stage_count());
            Indices agents, nodes;
            for (Index i = 0; i < d.agents.size(); ++i) {
                if (sample % 4 == 0 && random() % 3 == 0) continue;  // some are out of play
                const LocalGraph& graph = setup.graph(i);
                const Index first = graph.layer_begin[layer], last = graph.layer_begin[layer + 1];
                agents.push_back(i);
                nodes.push_back(first + static_cast<Index>(random() % (last - first)));
            }
            const Positions groups = independence.groups(agents, nodes).positions;
            CHECK(groups == expected.groups(agents, nodes));
            CHECK(independence.groups(agents, nodes).positions == groups);
            ++(groups.size() < agents.size() ? together : apart);
        }
    }
    CHECK(together > 500);
    CHECK(apart > 500);
    CHECK(on_their_own > 500);
}

}  // namespace
}  // namespace coreplan
