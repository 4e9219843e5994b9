#include "policies/outlook.hpp"

#include <functional>
#include <limits>
#include <map>

#include "check.hpp"
#include "groups.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

Standing somewhere(const CompiledModel& model, std::mt19937_64& random) {
    Standing standing{static_cast<Index>(random() % model.layer_count()), {}};
    for (const CompiledAgent& who : model.agents) {
        standing.classes.push_back(ClassId{static_cast<Index>(
            who.layer_begin[standing.layer] + random() % who.layer_size(standing.layer))});
    }
    return standing;
}

TEST(
    "an outlook is the exact value of its policy from every joint state, and of every joint "
    "action") {
    std::mt19937_64 random(3);
    int full = 0;
    int partial = 0;
    for (std::uint64_t seed = 0; seed < 250; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = any_team(seed);
        const policies::Translation translation(d, seed % 2 == 0);
        const CompiledModel& model = translation.model();
        Monitor monitor;
        Outlooks outlooks(model, kNoLimit, monitor);
        Lookup lookup(outlooks);
        const double slack = model.unit_mass ? 1e-9 : 1e-6;
        for (int round = 0; round < 2; ++round) {
            const LocalPolicy policy = groups::random_policy(model, random);
            const Standing from = somewhere(model, random);
            const auto base = round == 0 ? outlooks.add(policy) : outlooks.add(policy, from);
            reference::Bellman bellman(d, translation.rule(policy));
            for (Index layer = base->from; layer < model.layer_count(); ++layer) {
                const Index stage = model.first_stage + layer;
                double constant = 0;
                for (Index l = layer; l < model.layer_count(); ++l)
                    constant += model.constant_at[l];
                for (const auto& state : policies::joint_states_at(translation.graphs(), layer)) {
                    std::vector<ClassId> classes;
                    std::vector<Index> actions;
                    reference::JointChoice choice;
                    for (std::size_t i = 0; i < state.size(); ++i) {
                        const CompiledAgent& who = model.agents[i];
                        const Index c = translation.class_of(i, stage, state[i]);
                        const auto position = static_cast<Index>(
                            random() % (who.action_begin[c + 1] - who.action_begin[c]));
                        classes.push_back(ClassId{c});
                        actions.push_back(who.action_begin[c] + position);
                        choice.push_back(translation.choice_of(i, stage, state[i], position));
                    }
                    const char mark = base->mark(layer, classes);
                    if (round == 0) CHECK(mark == AgentOutlook::kDeviated);
                    if (mark == AgentOutlook::kUnknown) continue;
                    (round == 0 ? full : partial) += 1;
                    const double value = bellman.value(stage, state);
                    CHECK_NEAR(lookup.value(*base, classes) + constant, value,
                               relative(value, slack));
                    if (mark != AgentOutlook::kDeviated) continue;
                    const double q = bellman.value(stage, state, choice);
                    CHECK_NEAR(lookup.value(*base, actions) + constant, q, relative(q, slack));
                }
            }
        }
    }
    CHECK(partial > 100);
    CHECK(partial < full);
}

TEST("bases share what is expected of agents that do the same") {
    const CompiledModel model = compiled(random_team(2));
    Monitor monitor;
    Outlooks outlooks(model, kNoLimit, monitor);
    std::mt19937_64 random(1);
    const LocalPolicy policy = groups::random_policy(model, random);
    const auto one = outlooks.add(policy);
    const auto other = outlooks.add(policy, root_of(model));
    for (std::size_t i = 0; i < model.agents.size(); ++i) CHECK(one->agents[i] == other->agents[i]);
}

TEST("lists that find no room leave no base, and memory is given back") {
    Description d = team(6, {one_state(2), one_state(2)});
    d.entries.push_back(entry(-1.0, {when(d, 0, on_actions({1})), when(d, 1, on_actions({1}))}));
    const CompiledModel model = compiled(d);
    LocalPolicy busy;
    for (const CompiledAgent& who : model.agents) busy.action.emplace_back(who.class_count(), 1);
    Monitor monitor(Monitor::kNoLimit, 3000);
    {
        Outlooks outlooks(model, kNoLimit, monitor);
        CHECK(outlooks.add(busy) != nullptr);
        CHECK(monitor.reserved() > 0.0);
    }
    CHECK(monitor.reserved() == 0.0);
    {
        Outlooks outlooks(model, 100, monitor);
        CHECK(outlooks.add(busy) == nullptr);
    }
    Monitor tight(Monitor::kNoLimit, 900);
    Outlooks outlooks(model, kNoLimit, tight);
    CHECK(outlooks.add(busy) == nullptr);
}

}  // namespace
}  // namespace coreplan
