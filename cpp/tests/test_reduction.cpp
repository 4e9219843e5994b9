#include "engine/reduction.hpp"

#include "baselines/dp.hpp"
#include "check.hpp"
#include "clocks.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;

double best_of(const CompiledModel& model) {
    Monitor monitor;
    return solve_dp(model, monitor).lower;
}

Reduction reduced(const CompiledModel& model, const ReductionOptions& options = {}) {
    Monitor monitor;
    return reduce(model, options, monitor);
}

// Laws that do not sum to 1 weigh rewards of other agents, which shaping leaves out.
double tolerance(const CompiledModel& model, double value) {
    return relative(value, model.unit_mass ? 1e-9 : 1e-7);
}

TEST("no step of the reduction, alone or with others, changes the optimum") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        const double best = best_of(model);
        for (unsigned steps = 0; steps < 32; ++steps) {
            if (seed > 60 && steps != 31) continue;  // all steps together are what is used
            const testing::Context variant("steps", steps);
            const ReductionOptions options{(steps & 1U) != 0, (steps & 2U) != 0, (steps & 4U) != 0,
                                           (steps & 8U) != 0, (steps & 16U) != 0};
            const Reduction reduction = reduced(model, options);
            CHECK_NEAR(reduction.offset + best_of(reduction.model), best, tolerance(model, best));
            CHECK(reduction.report.classes_after <= reduction.report.classes_before);
        }
    }
}

TEST("the way back leads from every class that is kept to actions that it has") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const CompiledModel model = compiled(any_team(seed));
        const Reduction reduction = reduced(model);
        for (std::size_t i = 0; i < model.agents.size(); ++i) {
            const CompiledAgent& before = model.agents[i];
            const CompiledAgent& after = reduction.model.agents[i];
            CHECK(reduction.class_of[i][0] == 0);
            for (Index c = 0; c < before.class_count(); ++c) {
                const Index rows = reduction.action_begin[i][c + 1] - reduction.action_begin[i][c];
                const Index now = reduction.class_of[i][c];
                if (now == Reduction::kGone) {
                    CHECK(rows == 0);
                    continue;
                }
                CHECK(rows == after.action_begin[now + 1] - after.action_begin[now]);
                for (Index k = 0; k < rows; ++k) {
                    const Index action = reduction.action_of[i][reduction.action_begin[i][c] + k];
                    CHECK(action < before.action_begin[c + 1] - before.action_begin[c]);
                }
            }
        }
    }
}

TEST("an agent that interacts with nobody becomes one state per stage") {
    Description d = team(4, {agent(3, 2,
                                   {{0, 0, {{1, 0.5}, {2, 0.5}}},
                                    {0, 1, {{0, 1}}},
                                    {1, 0, {{0, 1}}},
                                    {2, 0, {{2, 1}}},
                                    {2, 1, {{1, 1}}}})});
    d.entries.push_back(entry(3.0, {when(d, 0, on_actions({1}))}));
    const Reduction reduction = reduced(compiled(d));
    CHECK(reduction.report.classes_after == 5);
    CHECK_NEAR(reduction.offset, reference::optimum(d), 1e-9);
}

TEST("robust elimination is left out for agents that can gain from each other") {
    // Alone, action 1 loses 1; together, it earns 5.
    Description d = team(1, {one_state(2), one_state(2)});
    for (Index i = 0; i < 2; ++i) d.entries.push_back(entry(-1.0, {when(d, i, on_actions({1}))}));
    d.entries.push_back(entry(5.0, {when(d, 0, on_actions({1})), when(d, 1, on_actions({1}))}));
    const Reduction reduction = reduced(compiled(d));
    CHECK(reduction.report.actions_eliminated == 0);
    CHECK_NEAR(reduction.offset + best_of(reduction.model), 3.0, 1e-12);
}

TEST("an action that costs more at once than playing safe ever does is eliminated") {
    // Action 1 loses 10; action 0 may meet the other's at a cost of 4.
    Description d = team(1, {one_state(2), one_state(2)});
    d.entries.push_back(entry(-10.0, {when(d, 0, on_actions({1}))}));
    d.entries.push_back(entry(-4.0, {when(d, 0, on_actions({0})), when(d, 1, on_actions({0}))}));
    const Reduction reduction = reduced(compiled(d));
    CHECK(reduction.report.actions_eliminated >= 1);
    CHECK_NEAR(reduction.offset + best_of(reduction.model), reference::optimum(d), 1e-12);
}

// The optimum, and a way back from every class that is kept.
void check_reduced(const CompiledModel& model, const Reduction& reduction, double best) {
    CHECK_NEAR(reduction.offset + best_of(reduction.model), best, tolerance(model, best));
    for (std::size_t i = 0; i < model.agents.size(); ++i) {
        const CompiledAgent& after = reduction.model.agents[i];
        for (Index c = 0; c < model.agents[i].class_count(); ++c) {
            const Index rows = reduction.action_begin[i][c + 1] - reduction.action_begin[i][c];
            const Index now = reduction.class_of[i][c];
            if (now == Reduction::kGone) continue;
            CHECK(rows == after.action_begin[now + 1] - after.action_begin[now]);
        }
    }
}

TEST("a limit leaves what has been shrunk so far, with the same optimum") {
    const auto check = [](const Description& description, std::uint64_t looks) {
        const CompiledModel model = compiled(description);
        Monitor monitor = clocks::striking_after(looks);
        check_reduced(model, reduce(model, {}, monitor), best_of(model));
        return monitor.stop();
    };
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        check(random_team(seed), 1 + seed % 3);
    }
    const Description large = crowd(3, 16, 5);
    std::uint64_t looks = 1;
    while (check(large, looks) != Stop::none) ++looks;
    CHECK(looks > 3);  // it stops between agents, too
}

TEST("shrinking costs work in proportion to the size of the model, per round") {
    double last = 0;
    for (const Index states : {8U, 16U, 32U}) {
        const CompiledModel model = compiled(crowd(4, states, 6));
        Monitor monitor;
        const Reduction reduction = reduce(model, {}, monitor);
        double size = 0;
        for (const CompiledAgent& agent : model.agents) {
            size += static_cast<double>(agent.outcome_next.size());
        }
        const double each = static_cast<double>(monitor.work()) /
                            (size * static_cast<double>(reduction.report.rounds));
        if (last > 0) CHECK(each < 2 * last);
        last = each;
    }
}

}  // namespace
}  // namespace coreplan
