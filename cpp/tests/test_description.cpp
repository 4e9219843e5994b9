#include "model/description.hpp"

#include <functional>
#include <stdexcept>

#include "check.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;
using Transitions = std::vector<TransitionId>;

// Two agents; the second has one state. Transitions of the first: 0: 0-a0->0, 1: 0-a0->1,
// 2: 0-a1->1, 3: 1-a0->0.
Description two_agents() {
    Description description = team(
        3,
        {agent(2, 2, {{0, 0, {{0, 0.5}, {1, 0.5}}}, {0, 1, {{1}}}, {1, 0, {{0}}}}), one_state(2)});
    description.entries.push_back(
        entry(1.0, {when(description, 0, on_states({1})), when(description, 1, on_actions({1}))},
              std::vector<Index>{0, 2}));
    return description;
}

TEST("a well-formed description is accepted, also with an entry that looks at nobody") {
    Description description = two_agents();
    description.entries.push_back(entry(2.0, {}));
    description.entries.push_back(entry(2.0, {}, std::vector<Index>{}));
    check(description);
    for (std::uint64_t seed = 0; seed < 50; ++seed) check(random_team(seed));
}

TEST("a malformed description is refused") {
    struct Damage {
        const char* what;
        std::function<void(Description&)> harm;
    };
    const std::vector<Damage> damages{
        {"horizon 0", [](auto& d) { d.horizon = 0; }},
        {"start at the horizon", [](auto& d) { d.first_stage = 3; }},
        {"no agents",
         [](auto& d) {
             d.agents.clear();
             d.start.clear();
             d.entries.clear();
         }},
        {"a start missing", [](auto& d) { d.start.pop_back(); }},
        {"a start too many", [](auto& d) { d.start.push_back(StateId{0}); }},
        {"start outside", [](auto& d) { d.start[0] = StateId{2}; }},
        {"no states",
         [](auto& d) {
             d.agents[1] = agent(0, 0, {});
             d.entries.clear();
         }},
        {"choice_begin short", [](auto& d) { d.agents[0].choice_begin.pop_back(); }},
        {"choice_begin empty", [](auto& d) { d.agents[0].choice_begin.clear(); }},
        {"choice_begin not from 0", [](auto& d) { d.agents[0].choice_begin[0] = 1; }},
        {"choice_begin not to the end", [](auto& d) { d.agents[0].choice_begin[2] = 2; }},
        {"choice_begin falling", [](auto& d) { d.agents[0].choice_begin[1] = 4; }},
        {"choice_action outside", [](auto& d) { d.agents[0].choice_action[0] = 2; }},
        {"choice_first short", [](auto& d) { d.agents[0].choice_first.pop_back(); }},
        {"choice_last long", [](auto& d) { d.agents[0].choice_last.push_back(0); }},
        {"outcome_begin short", [](auto& d) { d.agents[0].outcome_begin.pop_back(); }},
        {"outcome_begin falling", [](auto& d) { d.agents[0].outcome_begin[1] = 5; }},
        {"outcome_next outside", [](auto& d) { d.agents[0].outcome_next[3] = 2; }},
        {"probability missing", [](auto& d) { d.agents[0].outcome_probability.pop_back(); }},
        {"condition state", [](auto& d) { d.agents[0].conditions[0] = on_states({0, 2}); }},
        {"condition action", [](auto& d) { d.agents[0].conditions[0] = on_actions({2}); }},
        {"condition next", [](auto& d) { d.agents[0].conditions[0] = on_nexts({7}); }},
        {"weights short", [](auto& d) { d.weights = {1.0, 0.5}; }},
        {"weight below 0", [](auto& d) { d.weights = {1.0, 0.5, -0.1}; }},
        {"entry stage", [](auto& d) { d.entries[0].stages = std::vector<Index>{3}; }},
        {"entry agent", [](auto& d) { d.entries[0].members[1].agent = AgentId{2}; }},
        {"entry condition", [](auto& d) { d.entries[0].members[1].condition = 1; }},
        {"agent twice", [](auto& d) { d.entries[0].members[1] = d.entries[0].members[0]; }},
        {"agents out of order",
         [](auto& d) { std::swap(d.entries[0].members[0], d.entries[0].members[1]); }},
    };
    for (const Damage& damage : damages) {
        const testing::Context context("damage:", damage.what);
        Description description = two_agents();
        damage.harm(description);
        CHECK_THROWS(std::invalid_argument, check(description));
    }
}

TEST("a condition matches the transitions that fit all of its parts, in increasing order") {
    const AgentDescription first = two_agents().agents[0];
    const auto matches = [&](const Condition& condition) {
        return matching_transitions(first, condition);
    };
    const TransitionId t0{0}, t1{1}, t2{2}, t3{3};
    CHECK(matches(on_anything()) == Transitions{t0, t1, t2, t3});
    CHECK(matches(on_states({0})) == Transitions{t0, t1, t2});
    CHECK(matches(on_actions({0})) == Transitions{t0, t1, t3});
    CHECK(matches(on_nexts({1})) == Transitions{t1, t2});
    CHECK(matches(on({0}, {0}, {1})) == Transitions{t1});
    CHECK(matches(on({1}, {1}, {0, 1})) == Transitions{});
}

TEST("order and repetition in a condition's lists mean nothing; an empty list matches nothing") {
    const AgentDescription first = two_agents().agents[0];
    const TransitionId t0{0}, t1{1}, t2{2}, t3{3};
    CHECK(matching_transitions(first, on_states({1, 0, 1})) == Transitions{t0, t1, t2, t3});
    CHECK(matching_transitions(first, on_nexts({1, 1})) == Transitions{t1, t2});
    CHECK(matching_transitions(first, on_states({})).empty());
    CHECK(matching_transitions(first, on_actions({})).empty());
    CHECK(matching_transitions(first, on_nexts({})).empty());
}

}  // namespace
}  // namespace coreplan
