#include "model/joint_layout.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "check.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

// Reaches one more state at every stage; the states differ in what they earn.
Description growing(Index horizon, std::size_t agents) {
    Description d = team(horizon, {});
    for (std::size_t i = 0; i < agents; ++i) {
        std::vector<Choice> choices;
        for (Index s = 0; s < horizon; ++s) {
            choices.push_back({s, 0, {{s}}});
            choices.push_back({s, 1, {{s + 1}}});
        }
        choices.push_back({horizon, 0, {{horizon}}});
        d.agents.push_back(agent(horizon + 1, 2, std::move(choices)));
        d.start.push_back(StateId{0});
        for (Index s = 0; s <= horizon; ++s) {
            const Member here = when(d, static_cast<Index>(i), on_states({s}));
            d.entries.push_back(entry(s * s, {here}));
        }
    }
    return d;
}

TEST("joint states are all combinations of local ones, layer after layer") {
    const CompiledModel model = compiled(growing(3, 2));
    const JointLayout layout(model);
    CHECK(layout.state_count() == 1.0 + 4.0 + 9.0);
    CHECK(layout.layer_begins() == std::vector<std::uint64_t>{0, 1, 5, 14});
    CHECK(layout.stride(2, 0) == 3);
    CHECK(layout.stride(2, 1) == 1);
    CHECK(layout.strides().size() == 6);
    CHECK(layout.most_actions() == 4.0);
}

TEST("every joint state has a number of its own, without gaps") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team(seed), seed % 2 == 0);
        const JointLayout layout(model);
        std::set<std::uint64_t> numbers;
        double most = 0;
        for (Index layer = 0; layer < model.layer_count(); ++layer) {
            // All combinations, as a growing list of (number so far, joint actions so far).
            std::vector<std::pair<std::uint64_t, double>> partial{{layout.layer_begin(layer), 1.0}};
            for (std::size_t i = 0; i < model.agents.size(); ++i) {
                const CompiledAgent& who = model.agents[i];
                std::vector<std::pair<std::uint64_t, double>> longer;
                for (const auto& [number, actions] : partial) {
                    for (Index k = 0; k < who.layer_size(layer); ++k) {
                        const Index c = who.layer_begin[layer] + k;
                        longer.emplace_back(
                            number + k * layout.stride(layer, i),
                            actions * (who.action_begin[c + 1] - who.action_begin[c]));
                    }
                }
                partial = std::move(longer);
            }
            for (const auto& [number, actions] : partial) {
                CHECK(numbers.insert(number).second);
                most = std::max(most, actions);
            }
        }
        CHECK(static_cast<double>(numbers.size()) == layout.state_count());
        CHECK(*numbers.rbegin() + 1 == numbers.size());
        CHECK(layout.most_actions() == most);
    }
}

TEST("a count beyond 64 bits is still told as a number") {
    const JointLayout layout(compiled(growing(9, 40)));
    CHECK(layout.state_count() > 9e18);
    CHECK_NEAR(layout.state_count() / std::pow(9.0, 40), 1.0, 0.01);  // nearly all in the last
    CHECK(layout.most_actions() == std::pow(2.0, 40));
}

}  // namespace
}  // namespace coreplan
