#include "model/remaining_signals.hpp"

#include <algorithm>
#include <set>

#include "check.hpp"
#include "policies.hpp"
#include "problems.hpp"

namespace coreplan {
namespace {

using namespace problems;
using Runs = std::vector<SignalRun>;
using Moments = std::set<std::pair<SignalId, Index>>;

Runs runs_of(const SignalRuns& all, std::size_t class_id) {
    const Index list = all.list_of_class[class_id];
    return {all.runs.begin() + all.list_begin[list], all.runs.begin() + all.list_begin[list + 1]};
}

SignalRuns remaining(const CompiledModel& model, std::size_t agent) {
    Monitor monitor;
    return remaining_signals(model, as<AgentId>(agent), monitor);
}

TEST("what an agent can still take part in is a list of stage ranges, by signal") {
    // Works in state 0 whenever it likes; resting leads to state 1 for good, where it can only
    // wait.
    Description d =
        team(6, {agent(2, 2, {{0, 0, {{0}}}, {0, 1, {{1}}}, {1, 0, {{1}}}}), one_state(2)});
    const Member here = when(d, 0, on_states({0})), leaves = when(d, 0, on_nexts({1}));
    const Member other = when(d, 1, on_actions({1}));
    d.entries.push_back(entry(1.0, {here, other}, std::vector<Index>{0, 1, 2, 4}));
    d.entries.push_back(entry(1.0, {leaves, other}, std::vector<Index>{3}));
    const policies::Translation translation(d, false);
    const SignalRuns runs = remaining(translation.model(), 0);
    const SignalId staying{0}, leaving{1};
    CHECK(runs_of(runs, translation.class_of(0, 0, 0)) ==
          Runs{{staying, 0, 2}, {staying, 4, 4}, {leaving, 3, 3}});
    CHECK(runs_of(runs, translation.class_of(0, 2, 0)) ==
          Runs{{staying, 2, 2}, {staying, 4, 4}, {leaving, 3, 3}});
    CHECK(runs_of(runs, translation.class_of(0, 3, 1)) == Runs{{leaving, 3, 3}});
    CHECK(runs_of(runs, translation.class_of(0, 4, 1)).empty());
    CHECK(runs_of(runs, translation.class_of(0, 5, 0)).empty());
    CHECK(runs_of(runs, translation.class_of(0, 6, 0)).empty());
}

TEST("an agent without interactions has nothing left, anywhere") {
    const CompiledModel model = compiled(team(3, {one_state(2)}));
    const SignalRuns runs = remaining(model, 0);
    CHECK(runs.runs.empty());
    CHECK(runs.list_of_class == std::vector<Index>(4, 0));
}

// All (signal, stage) that a path from the class can meet.
Moments moments_from(const CompiledModel& model, const CompiledAgent& agent, Index layer, Index c) {
    Moments moments;
    std::set<Index> now{c};
    for (; layer < model.layer_count(); ++layer) {
        std::set<Index> next;
        for (const Index each : now) {
            for (Index a = agent.action_begin[each]; a < agent.action_begin[each + 1]; ++a) {
                const std::size_t after = at(agent.action_after[a]);
                const std::size_t label = at(agent.after_label[after]);
                for (Index f = agent.label_begin[label]; f < agent.label_begin[label + 1]; ++f) {
                    moments.emplace(agent.label_factor[f].signal, model.first_stage + layer);
                }
                for (Index o = agent.outcome_begin[after]; o < agent.outcome_begin[after + 1];
                     ++o) {
                    next.insert(static_cast<Index>(agent.outcome_next[o]));
                }
            }
        }
        now = std::move(next);
    }
    return moments;
}

TEST(
    "the ranges are exactly what paths can meet, as few as possible, and equal lists are stored "
    "once") {
    std::size_t seen = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(random_team(seed), seed % 3 != 0);
        for (std::size_t i = 0; i < model.agents.size(); ++i) {
            const CompiledAgent& who = model.agents[i];
            const SignalRuns all = remaining(model, i);
            for (Index layer = 0; layer <= model.layer_count(); ++layer) {
                for (Index c = who.layer_begin[layer]; c < who.layer_begin[layer + 1]; ++c) {
                    const Runs runs = runs_of(all, c);
                    Moments moments;
                    for (std::size_t k = 0; k < runs.size(); ++k) {
                        CHECK(runs[k].first <= runs[k].last);
                        for (Index t = runs[k].first; t <= runs[k].last; ++t) {
                            CHECK(moments.emplace(runs[k].signal, t).second);
                        }
                        // In order, with a gap between two ranges of one signal.
                        if (k == 0 || runs[k - 1].signal < runs[k].signal) continue;
                        CHECK(runs[k - 1].signal == runs[k].signal);
                        CHECK(runs[k - 1].last + 1 < runs[k].first);
                    }
                    CHECK(moments == moments_from(model, who, layer, c));
                    seen += moments.size();
                }
            }
            std::vector<Runs> lists;
            for (std::size_t k = 0; k + 1 < all.list_begin.size(); ++k) {
                const Runs runs(all.runs.begin() + all.list_begin[k],
                                all.runs.begin() + all.list_begin[k + 1]);
                CHECK(std::ranges::find(lists, runs) == lists.end());
                lists.push_back(runs);
            }
        }
    }
    CHECK(seen > 500);
}

TEST("a signal that can match throughout takes one range, however long the horizon") {
    Description d =
        team(100'000, {agent(2, 2, {{0, 0, {{1}}}, {0, 1, {{0}}}, {1, 0, {{0}}}}), one_state(2)});
    d.entries.push_back(entry(1.0, {when(d, 0, on_states({0})), when(d, 1, on_actions({1}))}));
    const CompiledModel model = compiled(d);
    const SignalRuns runs = remaining(model, 0);
    CHECK(runs_of(runs, 0) == Runs{{SignalId{0}, 0, 99'999}});
    for (std::size_t k = 0; k + 1 < runs.list_begin.size(); ++k) {
        CHECK(runs.list_begin[k + 1] - runs.list_begin[k] <= 1);
    }
}

}  // namespace
}  // namespace coreplan
