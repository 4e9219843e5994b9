#include "model/compiled_model.hpp"

#include <map>

#include "check.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

// From state 0, actions 0 and 1 lead to states 1 and 2, which go to 3 or 4 with these chances.
AgentDescription fork(double left, double right) {
    return agent(5, 2,
                 {{0, 0, {{1}}},
                  {0, 1, {{2}}},
                  {1, 0, {{3, left}, {4, 1 - left}}},
                  {2, 0, {{3, right}, {4, 1 - right}}},
                  {3, 0, {{3}}},
                  {4, 0, {{4}}}});
}

// The classes of states 1 and 2 of agent 0 at stage 1 are one.
bool merged(const Description& d) {
    const policies::Translation translation(d, true);
    return translation.class_of(0, 1, 1) == translation.class_of(0, 1, 2);
}

TEST("states with equal actions, rewards and futures are merged") {
    Description d = team(3, {fork(0.25, 0.25)});
    d.entries.push_back(entry(2.0, {when(d, 0, on_states({1, 2}))}));
    CHECK(merged(d));
    CHECK(compiled(d).agents[0].layer_begin == std::vector<Index>{0, 1, 2, 3, 4});
}

TEST("states are kept apart by own rewards") {
    Description d = team(3, {fork(0.25, 0.25)});
    d.entries.push_back(entry(2.0, {when(d, 0, on_states({1}))}));
    CHECK(!merged(d));
}

TEST("states are kept apart by their outcome law, if it matters where they go") {
    Description d = team(3, {fork(0.25, 0.75)});
    CHECK(merged(d));  // states 3 and 4 are the same, so it does not
    d.entries.push_back(entry(2.0, {when(d, 0, on_states({3}))}));
    CHECK(!merged(d));
    // At the horizon nothing is left to tell states apart: now only the move itself counts.
    d.horizon = 2;
    CHECK(merged(d));
}

TEST("states are kept apart by the chance that a signal matches") {
    Description d = team(3, {fork(0.5, 0.5), one_state(2)});
    d.entries.push_back(entry(2.0, {when(d, 0, on({1}, {0}, {3})), when(d, 1, on_actions({1}))}));
    CHECK(!merged(d));
    d.entries[0] = entry(2.0, {when(d, 0, on({1, 2}, {0}, {3})), when(d, 1, on_actions({1}))});
    CHECK(merged(d));
}

TEST("signals that no interaction looks at any more do not keep states apart") {
    Description d = team(3, {fork(0.5, 0.5), one_state(2)});
    d.entries.push_back(entry(2.0, {when(d, 0, on_states({1})), when(d, 1, on_actions({1}))},
                              std::vector<Index>{0, 2}));
    CHECK(merged(d));
    d.entries[0].stages = std::vector<Index>{1};
    CHECK(!merged(d));
}

TEST("states are kept apart by having an action more") {
    Description d = team(
        3,
        {agent(3, 2, {{0, 0, {{1}}}, {0, 1, {{2}}}, {1, 0, {{1}}}, {2, 0, {{2}}}, {2, 1, {{2}}}})});
    CHECK(merged(d));  // the second action is the first again
    d.entries.push_back(entry(1.0, {when(d, 0, on_actions({1}))}));
    CHECK(!merged(d));
}

TEST("states that earn the same in expectation merge, though their transitions earn differently") {
    Description d = team(3, {fork(0.5, 0.5)});
    d.entries.push_back(entry(10.0, {when(d, 0, on({1}, {0}, {3}))}));
    d.entries.push_back(entry(10.0, {when(d, 0, on({2}, {0}, {4}))}));
    CHECK(merged(d));
    const policies::Translation translation(d, true);
    const CompiledAgent& who = translation.model().agents[0];
    CHECK(who.action_reward[who.action_begin[translation.class_of(0, 1, 1)]] == 5.0);
    // The unrolled graph still knows which transition earns what.
    const LocalGraph& graph = translation.graphs().agents[0];
    const Index first = graph.arc_begin[graph.choice_begin[graph.layer_begin[1]]];
    CHECK(graph.arc_reward[first] == 10.0);
    CHECK(graph.arc_reward[first + 1] == 0.0);
    CHECK(graph.arc_reward[first + 2] == 0.0);
    CHECK(graph.arc_reward[first + 3] == 10.0);
}

TEST("names and order of actions do not matter, and the way back knows each state's own choice") {
    Description d = team(2, {agent(3, 2,
                                   {{0, 0, {{1}}},
                                    {0, 1, {{2}}},  // choices 0, 1
                                    {1, 0, {{0}}},
                                    {1, 1, {{0}}},  // 2 earns 1, 3 earns 4
                                    {2, 0, {{0}}},
                                    {2, 1, {{0}}}})});  // 4 earns 4, 5 earns 1
    d.entries.push_back(entry(1.0, {when(d, 0, on({1}, {0}, {0}))}));
    d.entries.push_back(entry(4.0, {when(d, 0, on({1}, {1}, {0}))}));
    d.entries.push_back(entry(4.0, {when(d, 0, on({2}, {0}, {0}))}));
    d.entries.push_back(entry(1.0, {when(d, 0, on({2}, {1}, {0}))}));
    CHECK(merged(d));
    const policies::Translation translation(d, true);
    const CompiledAgent& who = translation.model().agents[0];
    const Index begin = who.action_begin[translation.class_of(0, 1, 1)];
    CHECK(who.action_reward[begin] == 1.0);
    CHECK(who.action_reward[begin + 1] == 4.0);
    CHECK(translation.choice_of(0, 1, 1, 0) == 2);
    CHECK(translation.choice_of(0, 1, 1, 1) == 3);
    CHECK(translation.choice_of(0, 1, 2, 0) == 5);
    CHECK(translation.choice_of(0, 1, 2, 1) == 4);
}

TEST("equal actions of one state become one; without merging all nodes and actions stay") {
    const Description d = team(2, {fork(0.5, 0.5), one_state(3)});
    const CompiledModel small = compiled(d, true);
    CHECK(small.agents[0].class_count() == 3);
    CHECK(small.agents[0].action_reward.size() == 2);
    CHECK(small.agents[1].action_reward.size() == 2);
    const CompiledModel large = compiled(d, false);
    CHECK(large.agents[0].layer_begin == std::vector<Index>{0, 1, 3, 5});
    CHECK(large.agents[0].action_reward.size() == 4);
    CHECK(large.agents[1].action_reward.size() == 6);
    for (std::size_t k = 0; k < large.agents[0].class_count(); ++k) {
        CHECK(large.agents[0].node_class[k] == as<ClassId>(k));
    }
}

TEST("actions with equal laws and labels share what comes after, also between states") {
    Description d = team(
        2,
        {agent(3, 2, {{0, 0, {{1}}}, {0, 1, {{2}}}, {1, 0, {{0}}}, {1, 1, {{0}}}, {2, 0, {{0}}}})});
    d.entries.push_back(entry(1.0, {when(d, 0, on({1}, {1}, {0}))}));
    d.entries.push_back(entry(2.0, {when(d, 0, on({2}, {0}, {0}))}));
    const CompiledAgent who = compiled(d).agents[0];
    CHECK(who.after_layer_begin == std::vector<Index>{0, 2, 3, 3});
    CHECK(who.action_reward == std::vector<double>{0, 0, 0, 1, 2});
    CHECK(who.action_after[2] == who.action_after[3]);
    CHECK(who.action_after[2] == who.action_after[4]);
    CHECK(who.after_mass == std::vector<double>{1, 1, 1});
}

TEST(
    "an interaction is dropped at stages at which a member cannot take part, or it is worth "
    "nothing") {
    // Agent 0 is in state 0 at even stages and in state 1 at odd ones; agent 1 can do action 1
    // until stage 4.
    Description d = team(8, {agent(2, 1, {{0, 0, {{1}}}, {1, 0, {{0}}}}),
                             agent(1, 2, {{0, 0, {{0}}}, {0, 1, {{0}}, 0, 4}})});
    const Member odd = when(d, 0, on_states({1})), works = when(d, 1, on_actions({1}));
    d.entries.push_back(entry(5.0, {odd, works}));
    d.entries.push_back(entry(-5.0, {odd, works}, std::vector<Index>{1}));
    d.entries.push_back(entry(7.0, {when(d, 0, on_states({0})), works}, std::vector<Index>{1, 6}));
    const CompiledModel model = compiled(d);
    CHECK(model.interactions.size() == 1);
    CHECK(model.interactions[0].values == std::vector<std::pair<Index, double>>{{3, 5.0}});
    for (Index layer = 0; layer < 8; ++layer) {
        CHECK(model.interactions_at[layer].size() == (layer == 3 ? 1 : 0));
        CHECK(model.values_at[layer].size() == model.interactions_at[layer].size());
    }
    CHECK(model.values_at[3][0] == 5.0);
}

TEST("an interaction with a state that cannot be reached is dropped") {
    Description d = team(3, {agent(2, 1, {{0, 0, {{0}, {1, 0.0}}}, {1, 0, {{1}}}}), one_state(2)});
    d.entries.push_back(entry(5.0, {when(d, 0, on_nexts({1})), when(d, 1, on_actions({1}))}));
    CHECK(compiled(d).interactions.empty());
}

TEST("a factor is the chance that the transition matches, and may lie between 0 and 1") {
    Description d =
        team(1, {agent(3, 1, {{0, 0, {{0, 0.5}, {1, 0.375}, {2, 0.125}}}}), one_state(2)});
    d.entries.push_back(entry(8.0, {when(d, 0, on_nexts({1, 2})), when(d, 1, on_actions({1}))}));
    d.entries.push_back(entry(8.0, {when(d, 0, on_nexts({2})), when(d, 1, on_actions({1}))}));
    const CompiledModel model = compiled(d);
    const CompiledAgent& who = model.agents[0];
    const std::size_t label = at(who.after_label[at(who.action_after[0])]);
    CHECK(who.label_begin[label + 1] - who.label_begin[label] == 2);
    const Factor* factors = who.label_factor.data() + who.label_begin[label];
    CHECK(factors[0].signal == SignalId{0});
    CHECK(factors[0].chance == 0.5);
    CHECK(factors[1].signal == SignalId{1});
    CHECK(factors[1].chance == 0.125);
    // The other agent's action that does not take part carries nothing.
    const CompiledAgent& other = model.agents[1];
    const std::size_t idle = at(other.after_label[at(other.action_after[0])]);
    CHECK(other.label_begin[idle] == other.label_begin[idle + 1]);
}

TEST("what the team gets anyway is kept per layer") {
    Description d = team(4, {one_state(1)});
    d.first_stage = 1;
    d.entries.push_back(entry(1.0, {}));
    d.entries.push_back(entry(2.0, {when(d, 0, on_anything())}, std::vector<Index>{0, 2}));
    CHECK(compiled(d).constant_at == std::vector<double>{1, 3, 1});
}

TEST("masses are 1 up to rounding, or are known to be not") {
    std::vector<Branch> tenths;
    for (Index k = 0; k < 10; ++k) tenths.push_back({k, 0.1});
    std::vector<Choice> choices{{0, 0, tenths}};
    for (Index k = 1; k < 10; ++k) choices.push_back({k, 0, {{k}}});
    CHECK(compiled(team(2, {agent(10, 1, choices)})).unit_mass);

    for (const bool merge : {true, false}) {
        const CompiledModel model =
            compiled(team(2, {one_state(1),
                              agent(2, 1, {{0, 0, {{0, 0.5}, {1, 0.5 + 4e-10}}}, {1, 0, {{1}}}})}),
                     merge);
        CHECK(!model.unit_mass);
        CHECK(model.agents[0].after_mass == std::vector<double>{1, 1});
        CHECK_NEAR(model.agents[1].after_mass[0], 1 + 4e-10, 1e-15);
    }
}

// What one choice of the description is worth in the compiled model's terms.
struct Meaning {
    double reward = 0;
    std::map<Index, double> law;  // over classes
    std::map<SignalId, double> chances;
};

TEST("every action of a class means the same for each of its nodes as the node's own choice") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const policies::Translation translation(random_team(seed), seed % 4 != 0);
        const CompiledModel& model = translation.model();
        for (std::size_t i = 0; i < model.agents.size(); ++i) {
            const CompiledAgent& who = model.agents[i];
            const LocalGraph& graph = translation.graphs().agents[i];
            const AgentRewards& rewards = translation.graphs().rewards.agents[i];
            for (std::size_t node = 0; node < graph.node_count(); ++node) {
                const std::size_t c = at(who.node_class[node]);
                const Index actions = who.action_begin[c + 1] - who.action_begin[c];
                CHECK(who.node_choice_begin[node + 1] - who.node_choice_begin[node] == actions);
                for (Index k = 0; k < actions; ++k) {
                    const Index a = who.action_begin[c] + k;
                    const ChoiceId base = who.node_choice[who.node_choice_begin[node] + k];
                    Index choice = graph.choice_begin[node];
                    while (choice < graph.choice_begin[node + 1] &&
                           graph.choice_base[choice] != base)
                        ++choice;
                    CHECK(choice < graph.choice_begin[node + 1]);
                    Meaning meaning;
                    for (Index arc = graph.arc_begin[choice]; arc < graph.arc_begin[choice + 1];
                         ++arc) {
                        const double p = graph.arc_probability[arc];
                        meaning.reward += p * graph.arc_reward[arc];
                        meaning.law[static_cast<Index>(who.node_class[at(graph.arc_next[arc])])] +=
                            p;
                        const std::size_t t = at(graph.arc_base[arc]);
                        for (Index s = rewards.transition_signal_begin[t];
                             s < rewards.transition_signal_begin[t + 1]; ++s) {
                            meaning.chances[rewards.transition_signal[s]] += p;
                        }
                    }
                    CHECK_NEAR(who.action_reward[a], meaning.reward, 1e-12);
                    const std::size_t after = at(who.action_after[a]);
                    for (Index o = who.outcome_begin[after]; o < who.outcome_begin[after + 1];
                         ++o) {
                        meaning.law[static_cast<Index>(who.outcome_next[o])] -=
                            who.outcome_probability[o];
                    }
                    for (const auto& [next, rest] : meaning.law) CHECK_NEAR(rest, 0.0, 1e-15);
                    const std::size_t label = at(who.after_label[after]);
                    for (Index f = who.label_begin[label]; f < who.label_begin[label + 1]; ++f) {
                        const Factor& factor = who.label_factor[f];
                        CHECK(factor.chance > 0.0);
                        CHECK_NEAR(factor.chance, meaning.chances[factor.signal], 1e-15);
                    }
                }
            }
        }
    }
}

TEST("limits hold while compiling") {
    const Description d = team(1000, {one_state(2)});
    Monitor free;
    const LocalGraphs graphs = unroll(d, free);
    Monitor small(Monitor::kNoLimit, 1000);
    CHECK_THROWS(LimitReached, compile(graphs, true, small));
    Monitor late(0);
    CHECK_THROWS(LimitReached, compile(graphs, true, late));
}

}  // namespace
}  // namespace coreplan
