#include "model/rewards.hpp"

#include "check.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;
using Stages = std::vector<Index>;
using Extra = std::vector<std::pair<Index, double>>;

// Transitions: 0: 0-a0->0, 1: 0-a0->1, 2: 0-a1->1, 3: 1-a0->0.
AgentDescription walker() {
    return agent(2, 2, {{0, 0, {{0, 0.5}, {1, 0.5}}}, {0, 1, {{1}}}, {1, 0, {{0}}}});
}

TEST("a value per stage is a constant plus what is added at some stages") {
    StageValue value;
    value.add(1.5, std::nullopt);
    value.add(4.0, Stages{5, 2});
    value.add(0.5, Stages{2});
    value.add(-1.0, std::nullopt);
    value.finish();
    CHECK(value.constant() == 0.5);
    CHECK(value.extra() == Extra{{2, 4.5}, {5, 4.0}});
    CHECK(value.at_stage(0) == 0.5);
    CHECK(value.at_stage(2) == 5.0);
    CHECK(value.at_stage(3) == 0.5);
    CHECK(value.at_stage(5) == 4.5);
    CHECK(value.at_stage(6) == 0.5);
}

TEST("a stage that is listed twice counts once, and no stages means never") {
    StageValue value;
    value.add(3.0, Stages{1, 1, 1});
    value.add(7.0, Stages{});
    value.finish();
    CHECK(value.at_stage(0) == 0.0);
    CHECK(value.at_stage(1) == 3.0);
}

TEST("entries that look at the same transitions are one interaction, however they say it") {
    Description d = team(4, {walker(), walker()});
    // State 1 has one transition only, 1-a0->0, which {state 1, next 0} describes as well.
    d.entries.push_back(
        entry(2.0, {when(d, 0, on_states({1})), when(d, 1, on_actions({1}))}, Stages{1}));
    d.entries.push_back(
        entry(3.0, {when(d, 0, on({1, 1}, {0}, {0})), when(d, 1, on_actions({1, 1}))}));
    const Rewards rewards = sort_rewards(d);
    CHECK(rewards.interactions.size() == 1);
    const Interaction& both = rewards.interactions[0];
    CHECK(both.members.size() == 2);
    CHECK(both.members[0].agent == AgentId{0});
    CHECK(both.members[1].agent == AgentId{1});
    CHECK(both.value.at_stage(0) == 3.0);
    CHECK(both.value.at_stage(1) == 5.0);
    CHECK(rewards.agents[0].signal_count() == 1);
    CHECK(rewards.agents[1].signal_count() == 1);
}

TEST("an indicator that is always 1 is left out, so that its entry looks at fewer agents") {
    Description d = team(2, {walker(), walker(), walker()});
    d.entries.push_back(entry(2.0, {when(d, 0, on_anything()), when(d, 1, on_states({0, 1})),
                                    when(d, 2, on_nexts({1}))}));
    d.entries.push_back(entry(8.0, {when(d, 0, on_actions({0, 1})), when(d, 1, on_nexts({1, 0}))}));
    const Rewards rewards = sort_rewards(d);
    CHECK(rewards.interactions.empty());
    CHECK(rewards.agents[2].constant == std::vector<double>{0, 2, 2, 0});
    CHECK(rewards.agents[0].constant == std::vector<double>{0, 0, 0, 0});
    CHECK(rewards.constant.at_stage(0) == 8.0);
}

TEST("an entry with an indicator that is never 1 disappears") {
    Description d = team(2, {walker(), walker()});
    d.entries.push_back(entry(2.0, {when(d, 0, on({1}, {1}, {0})), when(d, 1, on_states({0}))}));
    d.entries.push_back(entry(2.0, {when(d, 0, on_states({})), when(d, 1, on_anything())}));
    d.entries.push_back(entry(2.0, {when(d, 0, on_anything()), when(d, 1, on_nexts({}))}));
    const Rewards rewards = sort_rewards(d);
    CHECK(rewards.interactions.empty());
    CHECK(rewards.constant.at_stage(0) == 0.0);
    for (const AgentRewards& who : rewards.agents) {
        CHECK(who.signal_count() == 0);
        CHECK(who.constant == std::vector<double>(4, 0.0));
    }
}

TEST("entries that look at nobody are constants by stage") {
    Description d = team(3, {walker()});
    d.entries.push_back(entry(1.0, {}));
    d.entries.push_back(entry(10.0, {}, Stages{2}));
    d.entries.push_back(entry(0.5, {when(d, 0, on_anything())}, Stages{0}));
    const Rewards rewards = sort_rewards(d);
    CHECK(rewards.constant.at_stage(0) == 1.5);
    CHECK(rewards.constant.at_stage(1) == 1.0);
    CHECK(rewards.constant.at_stage(2) == 11.0);
}

TEST("own rewards add up per transition and stage") {
    Description d = team(4, {walker()});
    d.entries.push_back(entry(1.0, {when(d, 0, on_actions({0}))}));
    d.entries.push_back(entry(2.0, {when(d, 0, on_nexts({1}))}, Stages{1, 3}));
    d.entries.push_back(entry(4.0, {when(d, 0, on_states({0}))}, Stages{3}));
    const Rewards rewards = sort_rewards(d);
    std::vector<double> now{99, 99};
    rewards.agents[0].rewards_at(0, now);
    CHECK(now == std::vector<double>{1, 1, 0, 1});
    rewards.agents[0].rewards_at(1, now);
    CHECK(now == std::vector<double>{1, 3, 2, 1});
    rewards.agents[0].rewards_at(2, now);
    CHECK(now == std::vector<double>{1, 1, 0, 1});
    rewards.agents[0].rewards_at(3, now);
    CHECK(now == std::vector<double>{5, 7, 6, 1});
}

TEST("an agent without rewards by stage keeps no list per stage") {
    Description d = team(1000, {walker(), walker()});
    d.entries.push_back(entry(1.0, {when(d, 0, on_actions({0}))}));
    d.entries.push_back(entry(1.0, {when(d, 1, on_actions({0}))}, Stages{1}));
    const Rewards rewards = sort_rewards(d);
    CHECK(rewards.agents[0].at_stage.empty());
    CHECK(rewards.agents[1].at_stage.size() == 1000);
}

TEST("a signal is a condition that interactions look at, shared between them") {
    Description d = team(2, {walker(), walker(), walker()});
    const Member zero = when(d, 0, on_nexts({1}));
    d.entries.push_back(entry(1.0, {zero, when(d, 1, on_states({0}))}));
    d.entries.push_back(entry(2.0, {zero, when(d, 2, on_states({1}))}));
    d.entries.push_back(entry(3.0, {when(d, 0, on_states({0})), when(d, 1, on_states({0})),
                                    when(d, 2, on_actions({1}))}));
    d.entries.push_back(entry(4.0, {when(d, 0, on_actions({1}))}));  // own: no signal
    const Rewards rewards = sort_rewards(d);
    CHECK(rewards.interactions.size() == 3);
    CHECK(rewards.interactions[2].members.size() == 3);
    CHECK(rewards.agents[0].signal_count() == 2);
    CHECK(rewards.agents[1].signal_count() == 1);
    CHECK(rewards.agents[2].signal_count() == 2);
    CHECK(rewards.interactions[0].members[0].signal == rewards.interactions[1].members[0].signal);
    CHECK(rewards.interactions[0].members[0].signal != rewards.interactions[2].members[0].signal);

    // Signal 0 of agent 0: leads to state 1; signal 1: starts in state 0.
    const AgentRewards& first = rewards.agents[0];
    const SignalId leads{0}, starts{1};
    CHECK(first.transition_signal_begin == std::vector<Index>{0, 1, 3, 5, 5});
    CHECK(first.transition_signal == std::vector<SignalId>{starts, leads, starts, leads, starts});
}

// What the sorted rewards give for one joint transition.
double sorted_reward(const Rewards& rewards, Index stage, const std::vector<Index>& transition) {
    double total = rewards.constant.at_stage(stage);
    std::vector<double> own;
    for (std::size_t i = 0; i < transition.size(); ++i) {
        rewards.agents[i].rewards_at(stage, own);
        total += own[transition[i]];
    }
    for (const Interaction& interaction : rewards.interactions) {
        bool all = true;
        for (const InteractionMember& member : interaction.members) {
            const AgentRewards& who = rewards.agents[at(member.agent)];
            const Index t = transition[at(member.agent)];
            bool matches = false;
            for (Index k = who.transition_signal_begin[t]; k < who.transition_signal_begin[t + 1];
                 ++k) {
                matches = matches || who.transition_signal[k] == member.signal;
            }
            all = all && matches;
        }
        if (all) total += interaction.value.at_stage(stage);
    }
    return total;
}

TEST("sorted rewards give every joint transition what its matching entries add up to") {
    std::mt19937_64 random(3);
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        const Rewards rewards = sort_rewards(d);
        const reference::Bellman bellman(d);
        for (int sample = 0; sample < 20; ++sample) {
            const auto stage = static_cast<Index>(random() % d.horizon);
            std::vector<Index> state, choice, transition;
            for (const AgentDescription& who : d.agents) {
                const auto t = static_cast<Index>(random() % who.transition_count());
                Index c = 0;
                while (who.outcome_begin[c + 1] <= t) ++c;
                Index s = 0;
                while (who.choice_begin[s + 1] <= c) ++s;
                transition.push_back(t);
                choice.push_back(c);
                state.push_back(s);
            }
            CHECK_NEAR(sorted_reward(rewards, stage, transition),
                       bellman.reward(stage, state, choice, transition), 1e-12);
        }
    }
}

}  // namespace
}  // namespace coreplan
