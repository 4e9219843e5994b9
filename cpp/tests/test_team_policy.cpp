#include "policies/team_policy.hpp"

#include "check.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

TEST("a team follows the tables of its clusters where they say something, else the default") {
    const AgentDescription two =
        agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 0, {{0}}}, {1, 1, {{1}}}});
    Description d = team(3, {two, two, two});
    // So that states differ and nothing is merged.
    for (Index i = 0; i < 3; ++i) d.entries.push_back(entry(1.0 + i, {when(d, i, on_states({1}))}));
    const CompiledModel model = compiled(d, false);
    TeamPolicy policy;
    for (const CompiledAgent& who : model.agents)
        policy.otherwise.action.emplace_back(who.class_count(), 0);
    policy.clusters.push_back(
        {{AgentId{0}, AgentId{2}}, {{1, 1, 2}, {0, 1, 1, 0, 1, 1}, {0, 1, 1, 0, 1, 1}}});
    const auto act = [&](Index layer, Index a, Index b, Index c) {
        const auto at_layer = [&](std::size_t i, Index k) {
            return ClassId{model.agents[i].layer_begin[layer] + k};
        };
        return policy.act(model, layer, {at_layer(0, a), at_layer(1, b), at_layer(2, c)});
    };
    CHECK(act(1, 0, 0, 1) == (std::vector<Index>{0, 0, 1}));
    CHECK(act(1, 1, 1, 0) == (std::vector<Index>{1, 0, 0}));
    CHECK(act(1, 1, 1, 1) == (std::vector<Index>{0, 0, 0}));
    CHECK(act(2, 1, 0, 1) == (std::vector<Index>{1, 0, 1}));
    CHECK(act(2, 0, 0, 1) == (std::vector<Index>{0, 0, 0}));
    CHECK(act(0, 0, 0, 0) == (std::vector<Index>{0, 0, 0}));
}

}  // namespace
}  // namespace coreplan
