#include "engine/team_model.hpp"

#include <algorithm>
#include <set>

#include "check.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;

TEST("pieces of a mode share no state, and every action is used once") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team(seed), seed % 2 == 0);
        for (const AgentId who : model.everyone()) {
            for (const Mode& mode : make_modes(model, who)) {
                std::set<Index> actions;
                std::vector<Index> piece_of(mode.states, 0xffff'ffffU);
                std::vector<bool> begun(mode.states, false);
                for (Index piece = 0; piece + 1 < mode.piece_begin.size(); ++piece) {
                    for (Index x = mode.piece_begin[piece]; x < mode.piece_begin[piece + 1]; ++x) {
                        for (Index u = mode.user_begin[x]; u < mode.user_begin[x + 1]; ++u) {
                            const Mode::User& user = mode.user[u];
                            CHECK(actions.insert(user.action).second);
                            if (piece_of[user.state] == 0xffff'ffffU) piece_of[user.state] = piece;
                            CHECK(piece_of[user.state] == piece);
                            CHECK(user.first == !begun[user.state]);
                            begun[user.state] = true;
                        }
                    }
                }
                CHECK(actions.size() == mode.slots());
                CHECK(std::ranges::all_of(begun, [](bool each) { return each; }));
            }
        }
    }
}

TEST("slots hold every action once, those of one rank side by side") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team(seed), seed % 2 == 0);
        for (const AgentId who : model.everyone()) {
            const CompiledAgent& agent = model.agents[at(who)];
            for (const Mode& mode : make_modes(model, who)) {
                for (std::size_t rank = 0; rank + 1 < mode.rank_begin.size(); ++rank) {
                    for (Index x = mode.rank_begin[rank]; x < mode.rank_begin[rank + 1]; ++x) {
                        const Index place = x - mode.rank_begin[rank];
                        const Index state = mode.state_at.empty() ? place : mode.state_at[place];
                        const Index first = agent.action_begin[mode.class_first + state];
                        CHECK(mode.slot_action[x] + mode.action_first == first + rank);
                    }
                }
            }
        }
    }
}

TEST("blocks of pairs hold the expected reward of every pair of after-states") {
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team(seed));
        std::vector<AgentId> order = model.everyone();
        if (seed % 2 == 1) std::ranges::reverse(order);
        Monitor monitor;
        Reservation memory(monitor);
        for (const PairBlock& block : make_pair_blocks(model, order, memory)) {
            const CompiledAgent& first = model.agents[at(block.first)];
            const CompiledAgent& second = model.agents[at(block.second)];
            for (Index layer = 0; layer < model.layer_count(); ++layer) {
                for (Index f = first.after_layer_begin[layer];
                     f < first.after_layer_begin[layer + 1]; ++f) {
                    for (Index g = second.after_layer_begin[layer];
                         g < second.after_layer_begin[layer + 1]; ++g) {
                        double expected = 0;
                        for (std::size_t e = 0; e < model.interactions_at[layer].size(); ++e) {
                            const auto& members =
                                model.interactions[model.interactions_at[layer][e]].members;
                            if (members.size() != 2) continue;
                            const bool straight = members[0].agent == block.first;
                            if (!straight && members[1].agent != block.first) continue;
                            const auto& mine = members[straight ? 0 : 1];
                            const auto& theirs = members[straight ? 1 : 0];
                            if (theirs.agent != block.second) continue;
                            expected += model.values_at[layer][e] * first.chance(f, mine.signal) *
                                        second.chance(g, theirs.signal);
                        }
                        double found = 0;
                        for (Index x = block.row_begin[f]; x < block.row_begin[f + 1]; ++x) {
                            if (block.column[x] == g - second.after_layer_begin[layer]) {
                                found += block.value[x];
                            }
                        }
                        CHECK_NEAR(found, expected, relative(expected));
                    }
                }
            }
        }
    }
}

}  // namespace
}  // namespace coreplan
