#include "crg/reward_tree.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "check.hpp"
#include "crgs.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;
using Indices = std::vector<Index>;

// Two states; every action leads from either to either by chance. From layer 1 on, all pairs of
// states are possible under every action.
AgentDescription drifter(Index actions) {
    std::vector<Choice> choices;
    for (Index s = 0; s < 2; ++s) {
        for (Index a = 0; a < actions; ++a) choices.push_back({s, a, {{0, 0.5}, {1, 0.5}}});
    }
    return agent(2, actions, choices);
}

// Agent 0 has one state and two actions; the reward is there only if it takes action 1, which is
// its transition 1. The others see it in the given ways.
Description watched(Index other_actions, std::vector<std::pair<double, Condition>> ways) {
    Description d = team(3, {one_state(2), drifter(other_actions)});
    const Member own = when(d, 0, on_actions({1}));
    for (auto& [value, condition] : ways) {
        d.entries.push_back(entry(value, {own, when(d, 1, std::move(condition))}));
    }
    return d;
}

std::vector<double> counts(const CrgSize& size) {
    return {size.action_nodes,   size.influence_nodes,   size.action_arcs, size.wildcard_arcs,
            size.influence_arcs, size.no_influence_arcs, size.reward_arcs};
}
using Counts = std::vector<double>;

// What the paths of agent 1's moves carry, by (state, action, next state), for own transition 1.
double carried(const WithCrgs& setup, Index state, Index action, Index next) {
    const RewardTree tree = setup.tree(0, 1, 1);
    const LocalGraph& graph = setup.graph(1);
    for (const Move& move : setup.maker().layer_moves(1, 1)) {
        if (graph.node_state[move.from] != StateId{state} || move.action != action ||
            graph.node_state[move.to] != StateId{next}) {
            continue;
        }
        return setup.maker().path_reward(tree, 1, {Move{}, move});
    }
    throw std::out_of_range("no such move");
}

TEST("a tree without entries is one path") {
    const WithCrgs setup(watched(2, {{3.0, on_actions({1})}}));
    const RewardTree tree = setup.tree(0, 1, 0);  // the own action that no entry is about
    CHECK(tree.entries.empty());
    CHECK(tree.agents.empty());
    CHECK(counts(tree.size) == Counts{1, 0, 1, 0, 0, 0, 1});
    CHECK(tree.most == 0.0);
    CHECK(tree.least == 0.0);
    // The other agent is told apart if nothing is grouped: 2 actions, 8 moves.
    CHECK(counts(tree.naive) == Counts{3, 8, 3, 0, 8, 0, 8});
}

TEST("a reward for an action makes it dependent, and nothing below is told apart") {
    const WithCrgs setup(watched(2, {{3.0, on_actions({1})}}));
    const RewardTree tree = setup.tree(0, 1, 1);
    CHECK(tree.agents.size() == 1);
    const TreeAgent& other = tree.agents[0];
    CHECK(other.dependent == Indices{1});
    CHECK(!other.trivial);
    CHECK(other.branches.size() == 2);
    CHECK(other.branches[0].action == Index{1});
    CHECK(!other.branches[1].action.has_value());
    CHECK(other.labels() == 0);
    CHECK(other.all_arcs() == 2);
    CHECK(counts(tree.size) == Counts{3, 2, 2, 1, 0, 2, 2});
    CHECK(tree.most == 3.0);
    CHECK(tree.least == 0.0);
    CHECK(carried(setup, 0, 1, 1) == 3.0);  // the same for all pairs: carried by the arc for others
    CHECK(carried(setup, 0, 0, 1) == 0.0);
}

TEST("a reward for a whole transition tells its pair of states apart, under its action only") {
    const WithCrgs setup(watched(2, {{-3.0, on({0}, {1}, {1})}}));
    const RewardTree tree = setup.tree(0, 1, 1);
    const TreeAgent& other = tree.agents[0];
    CHECK(other.dependent == Indices{1});
    CHECK(other.branches[0].labelled_arcs == 1);
    CHECK(other.branches[0].has_other);
    CHECK(other.branches[1].labelled_arcs == 0);
    CHECK(counts(tree.size) == Counts{3, 3, 2, 1, 1, 2, 3});
    CHECK(tree.most == 0.0);
    CHECK(tree.least == -3.0);
    CHECK(carried(setup, 0, 1, 1) == -3.0);
    CHECK(carried(setup, 1, 1, 1) == 0.0);
    CHECK(carried(setup, 0, 0, 1) == 0.0);
    // At layer 0 only state 0 is possible; still two pairs to tell apart.
    CHECK(setup.tree(0, 0, 1).agents[0].branches[0].arcs() == 2);
}

TEST("a reward for states only is influence under the wildcard; features count kinds of pairs") {
    const Description d = watched(2, {{3.0, on_nexts({1})}});
    const WithCrgs setup(d);
    const RewardTree tree = setup.tree(0, 1, 1);
    const TreeAgent& other = tree.agents[0];
    CHECK(other.dependent.empty());
    CHECK(!other.trivial);
    CHECK(other.branches.size() == 1);
    CHECK(other.branches[0].labelled_arcs == 2);  // (0, 1) and (1, 1)
    CHECK(other.branches[0].groups[0].pairs == 2);
    CHECK(counts(tree.size) == Counts{2, 3, 1, 1, 2, 1, 3});
    CHECK(carried(setup, 1, 0, 1) == 3.0);
    CHECK(carried(setup, 1, 0, 0) == 0.0);

    const WithCrgs by_features(d, false, {.literal = false, .largest = false, .features = true});
    CHECK(counts(by_features.tree(0, 1, 1).size) == Counts{2, 2, 1, 1, 1, 1, 2});
    CHECK(carried(by_features, 1, 0, 1) == 3.0);
}

TEST("dependence looks at what another action would have given, possible or not") {
    // Each state has an action of its own, so no possible triple differs in the action alone.
    Description d = team(
        3,
        {one_state(2), agent(2, 2, {{0, 0, {{0, 0.5}, {1, 0.5}}}, {1, 1, {{0, 0.5}, {1, 0.5}}}})});
    d.entries.push_back(entry(3.0, {when(d, 0, on_actions({1})), when(d, 1, on_actions({1}))}));
    const WithCrgs by_action(d);
    CHECK(by_action.tree(0, 1, 1).agents[0].dependent == Indices{1});
    // The same rewards, said of the state: any action there would give it.
    d.agents[1].conditions = {on_states({1})};
    const WithCrgs by_state(d);
    const RewardTree tree = by_state.tree(0, 1, 1);
    CHECK(tree.agents[0].dependent.empty());
    CHECK(tree.agents[0].branches[0].labelled_arcs == 2);
    // At layer 0 the other agent can do nothing about it.
    CHECK(by_action.tree(0, 0, 1).agents[0].trivial);
}

TEST("a reward that the other agent cannot change is carried without telling anything apart") {
    // Two entries that together always pay; neither alone does.
    Description d = watched(2, {{5.0, on_states({0})}, {5.0, on_states({1})}});
    for (const Index second : {Index{0}, Index{1}}) {  // in one reward function, or in two
        d.entries[1].function = second;
        const WithCrgs setup(d);
        const RewardTree tree = setup.tree(0, 1, 1);
        CHECK(tree.agents[0].trivial);
        CHECK(counts(tree.size) == Counts{1, 0, 1, 0, 0, 0, 1});
        CHECK(tree.most == 5.0);
        CHECK(tree.least == 5.0);
        CHECK(carried(setup, 0, 0, 0) == 5.0);
        CHECK(carried(setup, 1, 1, 0) == 5.0);
    }
    d.entries[1].function = 0;
    // The printed definitions say 0 for what is on no labelled path, and lose it.
    const WithCrgs literal(d, false, {.literal = true, .largest = false, .features = false});
    CHECK(carried(literal, 0, 0, 0) == 0.0);
}

TEST("the printed definitions agree where nothing is constant") {
    const Description by_action = watched(3, {{3.0, on_actions({1})}, {4.0, on({0}, {2}, {1})}});
    const Description by_state = watched(2, {{3.0, on_nexts({1})}});
    for (const Description& d : {by_action, by_state}) {
        const WithCrgs mine(d);
        const WithCrgs printed(d, false, {.literal = true, .largest = false, .features = false});
        CHECK(printed.tree(0, 1, 1).agents[0].dependent == mine.tree(0, 1, 1).agents[0].dependent);
        CHECK(counts(printed.tree(0, 1, 1).size) == counts(mine.tree(0, 1, 1).size));
        for (const Index a : {Index{0}, Index{1}}) {
            CHECK(carried(printed, 0, a, 1) == carried(mine, 0, a, 1));
        }
    }
}

TEST("the most frequent signature can be the neutral one, so that fewer are told apart") {
    const Description d = watched(3, {{3.0, on_actions({1, 2})}});
    const WithCrgs zero(d);
    CHECK(zero.tree(0, 1, 1).agents[0].dependent == Indices{1, 2});
    CHECK(zero.tree(0, 1, 1).size.reward_arcs == 3.0);
    const WithCrgs largest(d, false, {.literal = false, .largest = true, .features = false});
    CHECK(largest.tree(0, 1, 1).agents[0].dependent == Indices{0});
    CHECK(largest.tree(0, 1, 1).size.reward_arcs == 2.0);
    for (const WithCrgs* setup : {&zero, &largest}) {
        CHECK(carried(*setup, 0, 0, 1) == 0.0);
        CHECK(carried(*setup, 1, 1, 1) == 3.0);
        CHECK(carried(*setup, 1, 2, 0) == 3.0);
    }
}

TEST("a function of three agents makes each of the two others matter, one under the other") {
    Description d = team(3, {one_state(2), one_state(2), one_state(3)});
    const Member own = when(d, 0, on_actions({1}));
    d.entries.push_back(
        entry(4.0, {own, when(d, 1, on_actions({1})), when(d, 2, on_actions({1, 2}))}));
    d.entries.push_back(entry(-1.0, {own, when(d, 2, on_actions({2}))}));
    const WithCrgs setup(d);
    const RewardTree tree = setup.tree(0, 0, 1);
    CHECK(tree.agents.size() == 2);
    CHECK(tree.agents[0].dependent == Indices{1});
    CHECK(tree.agents[1].dependent == Indices{1, 2});
    CHECK(tree.most == 4.0);
    CHECK(tree.least == -1.0);
    // 2 ways of agent 1, 3 of agent 2: action nodes 1 + 2 + 6, influence nodes 6 + 6.
    CHECK(counts(tree.size) == Counts{9, 12, 1 + 1 + 4, 1 + 2, 0, 6 + 6, 6});
    CHECK(setup.crgs.of(0).others == 2);
}

TEST("agents that cannot make a difference at the stage are left out of the tree") {
    // Agent 2 has the action that it takes to earn anything only at stage 2.
    Description d =
        team(3, {one_state(2), one_state(2), agent(1, 2, {{0, 0, {{0}}}, {0, 1, {{0}}, 2, 2}})});
    d.entries.push_back(entry(4.0, {when(d, 0, on_actions({1})), when(d, 1, on_actions({1})),
                                    when(d, 2, on_actions({1}))}));
    const WithCrgs setup(d);
    const RewardTree early = setup.tree(0, 1, 1);
    CHECK(early.agents.size() == 2);
    CHECK(early.agents[0].trivial);
    CHECK(early.agents[1].trivial);
    CHECK(counts(early.size) == Counts{1, 0, 1, 0, 0, 0, 1});
    CHECK(early.most == 0.0);
    CHECK(setup.tree(0, 2, 1).size.reward_arcs == 4.0);

    d.entries[0].stages = Indices{1};
    CHECK(WithCrgs(d).tree(0, 2, 1).agents.empty());
}

TEST("a star with six partners has 64 leaves") {
    Description d = team(1, std::vector<AgentDescription>(7, one_state(2)));
    const Member own = when(d, 0, on_actions({1}));
    for (Index i = 1; i < 7; ++i) {
        d.entries.push_back(entry(i % 2 == 0 ? 1.0 : -1.0, {own, when(d, i, on_actions({1}))}));
    }
    const RewardTree tree = WithCrgs(d).tree(0, 0, 1);
    CHECK(counts(tree.size) == Counts{127, 6 * 64, 1 + 63, 63, 0, 6 * 64, 64});
    CHECK(tree.most == 3.0);
    CHECK(tree.least == -3.0);
}

TEST("every entry needs an owner") {
    const Description d = watched(2, {{3.0, on_actions({1})}});
    Monitor monitor;
    const LocalGraphs graphs = unroll(d, monitor);
    CHECK_THROWS(std::invalid_argument, TreeMaker(d, graphs, {}, {}, monitor));
}

// A joint transition with one move of each agent, as the reference wants it.
double reference_reward(const Description& d, Index stage, const std::vector<Move>& moves) {
    std::vector<Index> state, choice, transition;
    for (std::size_t i = 0; i < moves.size(); ++i) {
        const auto t = static_cast<Index>(moves[i].transition);
        const reference::Origin from = reference::origin(d.agents[i], t);
        state.push_back(from.state);
        choice.push_back(from.choice);
        transition.push_back(t);
    }
    return reference::Bellman(d).reward(stage, state, choice, transition);
}

struct Coverage {
    int transitions = 0;
    int extremes = 0;
};

// All joint transitions of a layer, or an even sample of them.
void check_layer(const Description& d, const WithCrgs& setup, Index layer, std::size_t most,
                 Coverage& coverage) {
    const std::size_t n = d.agents.size();
    const Index stage = setup.full.first_stage + layer;
    std::vector<Description> owned(n, d);  // per agent: the entries that it answers for
    for (Description& part : owned) part.entries.clear();
    for (std::size_t e = 0; e < setup.owner.size(); ++e) {
        owned[at(setup.owner[e])].entries.push_back(setup.full.rewards.interaction_entries[e]);
    }
    std::size_t total = 1;
    for (std::size_t i = 0; i < n; ++i) total *= setup.maker().layer_moves(i, layer).size();
    const bool all = total <= most;
    const std::size_t step = all ? 1 : (total / most) | 1U;

    // The first arc of the layer: moves are in the order of arcs.
    const auto arc_of = [&](std::size_t i, std::size_t move) {
        const LocalGraph& graph = setup.graph(i);
        return graph.arc_begin[graph.choice_begin[graph.layer_begin[layer]]] + move;
    };
    struct Range {
        double least = std::numeric_limits<double>::infinity();
        double most = -std::numeric_limits<double>::infinity();
    };
    std::vector<std::map<std::size_t, Range>> ranges(n);  // per agent and own arc
    for (std::size_t code = 0; code < total; code += step) {
        std::vector<Move> moves;
        std::vector<std::size_t> arcs;
        std::size_t rest = code;
        for (std::size_t i = 0; i < n; ++i) {
            const auto& list = setup.maker().layer_moves(i, layer);
            moves.push_back(list[rest % list.size()]);
            arcs.push_back(arc_of(i, rest % list.size()));
            rest /= list.size();
        }
        double sum = setup.full.rewards.constant.at_stage(stage);
        for (std::size_t i = 0; i < n; ++i) {
            const auto& crg = setup.crgs.of(i);
            const RewardTree& tree = crg.trees[crg.arc_tree[arcs[i]]];
            const double path = setup.maker().path_reward(tree, layer, moves);
            const double expected = reference_reward(owned[i], stage, moves);
            CHECK_NEAR(path, expected, 1e-12);
            sum += setup.graph(i).arc_reward[arcs[i]] + path;
            Range& range = ranges[i][arcs[i]];
            range.least = std::min(range.least, expected);
            range.most = std::max(range.most, expected);
            CHECK(tree.most >= expected);
            CHECK(tree.least <= expected);
        }
        CHECK_NEAR(sum, reference_reward(d, stage, moves), 1e-12);
        ++coverage.transitions;
    }
    if (!all) return;
    for (std::size_t i = 0; i < n; ++i) {
        const auto& crg = setup.crgs.of(i);
        for (const auto& [arc, range] : ranges[i]) {
            CHECK_NEAR(crg.trees[crg.arc_tree[arc]].most, range.most, 1e-12);
            CHECK_NEAR(crg.trees[crg.arc_tree[arc]].least, range.least, 1e-12);
            ++coverage.extremes;
        }
    }
}

TEST("actions and pairs of states with the same rewards share arcs") {
    // Actions 1 and 2 earn the same, action 3 something else.
    const std::vector<std::pair<double, Condition>> ways{
        {3.0, on_actions({1})}, {3.0, on_actions({2})}, {5.0, on_actions({3})}};
    const Description d = watched(4, ways);
    const WithCrgs apart(d);
    CHECK(counts(apart.tree(0, 1, 1).size) == Counts{5, 4, 4, 1, 0, 4, 4});
    const WithCrgs shared(d, false, CrgOptions{.share = true});
    const RewardTree tree = shared.tree(0, 1, 1);
    const TreeAgent& other = tree.agents[0];
    CHECK(other.dependent == Indices{1, 2, 3});
    CHECK(other.branches.size() == 3);
    CHECK(other.branches[0].action == Index{1});
    CHECK(other.branches[0].sharing == Indices{2});
    CHECK(other.branches[1].action == Index{3});
    CHECK(other.branches[1].sharing.empty());
    CHECK(counts(tree.size) == Counts{4, 3, 3, 1, 0, 3, 3});
    CHECK(carried(shared, 0, 1, 1) == 3.0);
    CHECK(carried(shared, 0, 2, 1) == 3.0);
    CHECK(carried(shared, 0, 3, 1) == 5.0);
    // Two pairs under one action, both worth 3, and others worth nothing.
    const Description pairs = watched(2, {{3.0, on({0}, {1}, {1})}, {3.0, on({1}, {1}, {0})}});
    const WithCrgs together(pairs, false, CrgOptions{.share = true});
    CHECK(WithCrgs(pairs).tree(0, 1, 1).agents[0].branches[0].labelled_arcs == 2);
    CHECK(together.tree(0, 1, 1).agents[0].branches[0].labelled_arcs == 1);
    CHECK(carried(together, 1, 1, 0) == 3.0);
    CHECK(carried(together, 1, 1, 1) == 0.0);
}

TEST("actions under which a pair of states earns different rewards share no arc") {
    // Both actions earn 3 and 5, by the next state; the other way round.
    const Description d = watched(3, {{3.0, on({0, 1}, {1}, {0})},
                                      {5.0, on({0, 1}, {1}, {1})},
                                      {5.0, on({0, 1}, {2}, {0})},
                                      {3.0, on({0, 1}, {2}, {1})}});
    const WithCrgs shared(d, false, CrgOptions{.share = true});
    CHECK(shared.tree(0, 1, 1).agents[0].branches.size() == 3);
    CHECK(carried(shared, 0, 1, 0) == 3.0);
    CHECK(carried(shared, 0, 2, 0) == 5.0);
}

TEST("shared arcs never make a tree larger") {
    std::size_t smaller = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        for (const bool features : {false, true}) {
            const WithCrgs apart(d, false, CrgOptions{.features = features});
            const WithCrgs shared(d, false, CrgOptions{.features = features, .share = true});
            const CrgSize before = apart.crgs.size();
            const CrgSize after = shared.crgs.size();
            CHECK(after.nodes() <= before.nodes());
            CHECK(after.arcs() <= before.arcs());
            if (after.arcs() < before.arcs()) ++smaller;
        }
    }
    CHECK(smaller > 20);
}

TEST("paths carry the rewards of joint transitions, and extremes are reached, on random problems") {
    Coverage coverage;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        for (const bool merge : {false, true}) {
            for (const CrgOptions& options :
                 {CrgOptions{}, CrgOptions{.literal = false, .largest = true, .features = true},
                  CrgOptions{.features = seed % 2 == 0, .share = true}}) {
                const WithCrgs setup(d, merge, options, seed / 3);
                for (Index layer = 0; layer < setup.full.stage_count(); ++layer) {
                    check_layer(d, setup, layer, 400, coverage);
                }
            }
        }
    }
    CHECK(coverage.transitions > 50'000);
    CHECK(coverage.extremes > 5'000);
}

}  // namespace
}  // namespace coreplan
