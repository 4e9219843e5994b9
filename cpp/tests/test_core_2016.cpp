#include "search/core_2016.hpp"

#include <algorithm>
#include <cmath>

#include "check.hpp"
#include "clocks.hpp"
#include "crgs.hpp"
#include "problems.hpp"
#include "reference.hpp"

namespace coreplan {
namespace {

using namespace problems;

constexpr std::uint64_t kWholeTrace = 1'000'000;

CoreResult solve(WithCrgs& setup, const CoreOptions& options) {
    Monitor monitor;
    return solve_core_2016(setup.crgs, options, monitor);
}

CoreOptions options_of(bool bounds, bool memo, bool trace = false) {
    CoreOptions options;
    options.bounds = bounds;
    options.memo = memo;
    options.rewards = RewardSource::checked;
    options.most_trace = trace ? kWholeTrace : 0;
    return options;
}

// One of the readings of the algorithm.
CoreOptions reading(CoreOptions options, std::uint64_t seed) {
    options.table = seed % 2 == 0;
    options.promising = seed / 2 % 2 == 0;
    options.independent_actions = seed / 4 % 2 == 1;
    options.update = seed / 8 % 2 == 0;
    return options;
}

double tolerance(const Description& d, double value) {
    return relative(value, unit_mass(d) ? 1e-9 : 1e-7);
}

// Cuts the horizon until the tree of all joint actions and outcomes is small enough to be searched
// without memory.
Description shortened(Description d, double most) {
    double branching = 1;
    for (const AgentDescription& who : d.agents) {
        Index widest = 0;
        for (Index s = 0; s < who.state_count; ++s) {
            widest = std::max(widest, who.outcome_begin[who.choice_begin[s + 1]] -
                                          who.outcome_begin[who.choice_begin[s]]);
        }
        branching *= widest;
    }
    while (d.horizon > d.first_stage + 1 && std::pow(branching, d.horizon - d.first_stage) > most) {
        --d.horizon;
    }
    if (!d.weights.empty()) d.weights.resize(d.horizon);
    for (Entry& entry : d.entries) {
        if (entry.stages) std::erase_if(*entry.stages, [&](Index s) { return s >= d.horizon; });
    }
    return d;
}

// The value, that the policy earns it, and that there are decisions for just what it leads to.
void check_result(const Description& d, WithCrgs& setup, const CoreResult& result, double best) {
    CHECK(result.stop == Stop::none);
    CHECK(!result.trace_full);
    CHECK_NEAR(result.lower, best, tolerance(d, best));
    CHECK(result.upper == result.lower);
    SearchPolicy policy(d, setup, result);
    const double earned = reference::Bellman(d, policy.rule()).value();
    CHECK_NEAR(earned, result.lower, tolerance(d, best));
    CHECK(policy.used() == result.decisions.size());
}

TEST("the search finds the optimum of random problems, with memory") {
    std::uint64_t pruned = 0, decouplings = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        const double best = reference::optimum(d);
        for (const bool merge : {false, true}) {
            WithCrgs setup(d, merge, {false, seed % 2 == 0, seed % 3 == 0}, seed / 2);
            for (const bool bounds : {false, true}) {
                const testing::Context variant("bounds", bounds);
                const CoreResult result = solve(setup, reading(options_of(bounds, true), seed));
                check_result(d, setup, result, best);
                CHECK((bounds || result.actions_pruned == 0));
                pruned += result.actions_pruned;
                decouplings += result.decouplings;
            }
        }
    }
    CHECK(pruned > 1000);
    CHECK(decouplings > 1000);
}

TEST("the search finds the optimum as printed, without memory, and a trace changes nothing") {
    std::uint64_t expanded = 0, remembered = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = shortened(random_team(seed), 3000);
        const double best = reference::optimum(d);
        for (const int variant : {0, 1, 2, 3}) {
            const testing::Context which("variant", variant);
            const bool merge = variant % 2 == 1, bounds = variant / 2 == 1;
            WithCrgs setup(d, merge, {false, false, false, seed % 3 == 0}, seed);
            const CoreResult result = solve(setup, reading(options_of(bounds, false), seed));
            check_result(d, setup, result, best);
            expanded += result.states_expanded;
            const CoreResult with_memo = solve(setup, reading(options_of(bounds, true), seed));
            CHECK(with_memo.states_expanded <= result.states_expanded);
            remembered += with_memo.states_expanded;
            const CoreResult traced = solve(setup, reading(options_of(bounds, false, true), seed));
            check_result(d, setup, traced, best);
            CHECK(traced.lower == result.lower);
            CHECK(traced.states_expanded == result.states_expanded);
            CHECK(traced.actions_evaluated == result.actions_evaluated);
            CHECK(traced.actions_pruned == result.actions_pruned);
            CHECK(traced.decisions.size() == result.decisions.size());
        }
    }
    CHECK(remembered < expanded);
}

// What the records of a search say must fit together, and their bounds must hold.
void check_trace(const Description& d, WithCrgs& setup, const CoreResult& result, bool bounds) {
    reference::Bellman bellman(d);
    std::uint64_t expanded = 0, evaluated = 0, pruned = 0;
    for (const TraceState& state : result.trace) {
        const bool is_root = state.parent < 0;
        CHECK(is_root == (state.layer == 0));
        if (!is_root) {
            const TraceState& from = result.trace[static_cast<std::size_t>(state.parent)];
            CHECK(from.layer + 1 == state.layer);
            CHECK(!from.actions[state.parent_action].pruned);
            CHECK(std::ranges::includes(from.agents, state.agents));
            CHECK(state.groups <= from.agents.size());
        }
        CHECK(state.probability > 0.0);
        if (state.independent || state.remembered) {
            CHECK(state.actions.empty());
            continue;
        }
        ++expanded;
        double best = -std::numeric_limits<double>::infinity();
        for (const TraceAction& action : state.actions) {
            ++(action.pruned ? pruned : evaluated);
            CHECK(action.graph_lower <= action.lower + 1e-9);
            CHECK(action.graph_upper >= action.upper - 1e-9);
            if (action.pruned) continue;
            CHECK(action.lower <= action.value + 1e-9);
            CHECK(action.upper >= action.value - 1e-9);
            if (action.given_up) {
                CHECK(action.value < action.best_known);
                continue;
            }
            best = std::max(best, action.value);
        }
        CHECK(state.value == best);
        CHECK((bounds || std::ranges::none_of(state.actions, &TraceAction::pruned)));
        if (state.agents.size() < d.agents.size()) continue;

        // Of the whole team the reference knows the value of every joint action, pruned or not.
        const Index stage = d.first_stage + state.layer;
        reference::JointState where;
        for (std::size_t i = 0; i < state.agents.size(); ++i) {
            where.push_back(static_cast<Index>(setup.graph(i).node_state[state.nodes[i]]));
        }
        const double constants = setup.constants_from(stage);
        CHECK_NEAR(state.value, bellman.value(stage, where) - constants, 1e-9);
        for (const TraceAction& action : state.actions) {
            reference::JointChoice choice;
            for (std::size_t i = 0; i < where.size(); ++i) {
                const LocalGraph& graph = setup.graph(i);
                choice.push_back(static_cast<Index>(
                    graph.choice_base[graph.choice_begin[state.nodes[i]] + action.choices[i]]));
            }
            const double value = bellman.value(stage, where, choice) - constants;
            CHECK(action.lower <= value + 1e-9);
            CHECK(action.upper >= value - 1e-9);
            if (action.pruned) CHECK(value <= action.best_known + 1e-6);
            if (action.given_up) CHECK(value <= action.value + 1e-9);
        }
    }
    CHECK(result.states_expanded == expanded);
    CHECK(result.actions_evaluated == evaluated);
    CHECK(result.actions_pruned == pruned);
}

TEST("the trace of a search fits together, and its bounds hold for every joint action") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = shortened(random_team(seed), 3000);
        if (!unit_mass(d)) continue;
        for (const bool bounds : {false, true}) {
            WithCrgs setup(d, false, {false, false, false, seed % 3 == 0}, seed);
            const bool memo = seed % 2 == 0;
            const CoreOptions options = reading(options_of(bounds, memo, true), seed / 2);
            check_trace(d, setup, solve(setup, options), bounds);
        }
    }
}

TEST("a search that is longer than its trace may be says so") {
    const Description d = shortened(random_team(1), 3000);
    WithCrgs setup(d);
    CoreOptions options = options_of(true, false, true);
    const std::size_t records = solve(setup, options).trace.size();
    options.most_trace = records;
    CHECK(!solve(setup, options).trace_full);
    options.most_trace = 1;
    CHECK((records > 1) == solve(setup, options).trace_full);
}

TEST("value is given away only within the gap that is allowed, and the policy earns the rest") {
    int worse = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = random_team(seed);
        if (!unit_mass(d)) continue;
        const double best = reference::optimum(d);
        WithCrgs setup(d, seed % 2 == 0, {}, seed);
        for (const auto& [absolute, part] : {std::pair{20.0, 0.0}, {0.0, 0.5}, {1.0, 0.1}}) {
            CoreOptions options = options_of(true, true);
            options.absolute_gap = absolute;
            options.relative_gap = part;
            const CoreResult result = solve(setup, options);
            CHECK(result.given_away <= std::max(absolute, part * std::abs(best)) + 1e-9);
            CHECK(result.upper == result.lower + result.given_away);
            CHECK(result.lower <= best + relative(best));
            CHECK(result.upper >= best - relative(best));
            SearchPolicy policy(d, setup, result);
            const double earned = reference::Bellman(d, policy.rule()).value();
            CHECK_NEAR(earned, result.lower, relative(best));
            if (result.lower < best - 1e-6) ++worse;
        }
        // Without bounds there is nothing to prune by.
        CoreOptions options = options_of(false, true);
        options.absolute_gap = 20;
        CHECK_NEAR(solve(setup, options).lower, best, relative(best));
    }
    CHECK(worse > 5);
}

// Agents in a row, each in two states by chance, that earn something in pairs.
Description row(Index horizon, Index agents) {
    constexpr Index actions = 2;
    std::vector<Choice> choices;
    for (Index s = 0; s < 2; ++s) {
        for (Index a = 0; a < actions; ++a) {
            const double p = (1.0 + a + s) / (actions + 3.0);
            choices.push_back({s, a, {{0, p}, {1, 1 - p}}});
        }
    }
    Description d =
        team(horizon, std::vector<AgentDescription>(agents, agent(2, actions, choices)));
    for (Index i = 0; i + 1 < agents; ++i) {
        d.entries.push_back(
            entry(1.0, {when(d, i, on_states({1})), when(d, i + 1, on_actions({1}))}));
    }
    d.entries.push_back(entry(-0.25, {when(d, 0, on_actions({1}))}));
    return d;
}

TEST("a long horizon needs memory, not the call stack") {
    const Description d = row(20'000, 2);
    WithCrgs setup(d);
    const CoreResult result = solve(setup, options_of(true, true));
    CHECK(result.stop == Stop::none);
    CHECK(result.states_expanded <= 4 * 20'000);
    // Long after the start and before the end, a stage is always worth the same.
    const auto value = [](Index horizon) {
        WithCrgs part(row(horizon, 2));
        return solve(part, options_of(true, true)).lower;
    };
    const double stage = value(101) - value(100);
    CHECK_NEAR(result.lower, value(100) + stage * 19'900, 1e-6 * result.lower);
}

TEST("a search that is stopped has no value, and says why") {
    const Description d = row(30, 3);  // beyond all patience without memory
    WithCrgs setup(d, false, {}, 1);
    for (const bool bounds : {false, true}) {
        Monitor at_once(0);
        const CoreResult none = solve_core_2016(setup.crgs, options_of(bounds, false), at_once);
        CHECK(none.stop == Stop::time_limit);
        CHECK(none.decisions.empty());

        Monitor late = clocks::striking_after(100);
        CHECK(solve_core_2016(setup.crgs, options_of(bounds, false), late).stop ==
              Stop::time_limit);

        std::uint64_t seen = 0;
        Monitor watched = clocks::watched([&](const Progress& progress) {
            seen = progress.states_expanded;
            return seen > 0 ? Stop::interrupted : Stop::none;
        });
        const CoreResult result = solve_core_2016(setup.crgs, options_of(bounds, false), watched);
        CHECK(result.stop == Stop::interrupted);
        CHECK(seen > 0);
        CHECK(result.states_expanded >= seen);
    }
}

TEST("what the search remembers is counted, whether it remembers values or decisions only") {
    WithCrgs setup(row(50, 3));
    // One decision per joint state, 8 at each stage, each of more than 50 bytes.
    for (const bool memo : {false, true}) {
        const testing::Context context("memo", memo);
        Monitor monitor(Monitor::kNoLimit, 90'000);  // most of it before the first joint state
        const CoreResult result = solve_core_2016(setup.crgs, options_of(true, memo), monitor);
        CHECK(result.stop == Stop::memory_limit);
        CHECK(result.states_expanded > 0);
        CHECK(monitor.reserved() <= 90'000.0);
    }
}

// One stage, one state; neighbours earn something by what they do.
Description crowd(Index agents, Index actions) {
    Description d = team(1, std::vector<AgentDescription>(agents, one_state(actions)));
    for (Index i = 0; i + 1 < agents; ++i) {
        d.entries.push_back(
            entry(1.0, {when(d, i, on_actions({0})), when(d, i + 1, on_actions({1}))}));
    }
    return d;
}

TEST("the clock is looked at between the joint actions of one joint state") {
    WithCrgs setup(crowd(22, 2));
    for (const bool bounds : {false, true}) {
        const testing::Context context("bounds", bounds);
        Monitor late = clocks::striking_after(2);
        const CoreResult result = solve_core_2016(setup.crgs, options_of(bounds, true), late);
        CHECK(result.stop == Stop::time_limit);
        CHECK(result.actions_evaluated < (1U << 22U));
    }
}

TEST("memory for the joint actions of one joint state is counted before it is taken") {
    WithCrgs setup(crowd(18, 2));  // a number for each of them is 2 MB
    Monitor small(Monitor::kNoLimit, 1e6);
    CHECK(solve_core_2016(setup.crgs, options_of(true, true), small).stop == Stop::memory_limit);
    // Without bounds there is nothing to keep of them.
    Monitor enough(Monitor::kNoLimit, 1e6);
    CHECK(solve_core_2016(setup.crgs, options_of(false, true), enough).stop == Stop::none);
}

TEST("more joint actions than can be counted are refused") {
    WithCrgs setup(crowd(14, 4));  // 4^14
    CHECK(solve(setup, options_of(true, true)).stop == Stop::memory_limit);
}

TEST("sets of agents that cannot interact now are bounded separately, with the same outcome") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = shortened(random_team(seed), 3000);
        if (!unit_mass(d)) continue;
        WithCrgs setup(d, seed % 2 == 0, {false, false, false, seed % 3 == 0}, seed);
        CoreOptions options = reading(options_of(true, seed / 2 % 2 == 0), seed % 4);
        const CoreResult plain = solve(setup, options);
        options.independent_actions = true;
        const CoreResult split = solve(setup, options);
        check_result(d, setup, split, reference::optimum(d));
        CHECK(split.states_expanded == plain.states_expanded);
        CHECK(split.actions_evaluated == plain.actions_evaluated);
        CHECK(split.actions_pruned == plain.actions_pruned);
    }
    // Neighbours interact at stage 1 only: at stage 0 there are 4 sets of one agent.
    Description d = team(2, std::vector<AgentDescription>(4, one_state(3)));
    for (Index i = 0; i < 3; ++i) {
        d.entries.push_back(entry(1.0,
                                  {when(d, i, on_actions({0})), when(d, i + 1, on_actions({1}))},
                                  std::vector<Index>{1}));
    }
    WithCrgs setup(d);
    CoreOptions options = options_of(true, true);
    CHECK(solve(setup, options).actions_bounded == 81 + 81);
    options.independent_actions = true;
    CHECK(solve(setup, options).actions_bounded == 4 * 3 + 81);
}

TEST("decoupled agents need no search, and the most promising actions first save work") {
    std::uint64_t searched = 0, looked_up = 0, listed = 0, promising = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = shortened(random_team(seed), 3000);
        WithCrgs setup(d, false, {}, seed);
        CoreOptions options = options_of(true, false);
        const CoreResult both = solve(setup, options);
        options.table = false;
        const CoreResult search = solve(setup, options);
        CHECK(both.states_expanded <= search.states_expanded);
        CHECK(both.actions_evaluated <= search.actions_evaluated);
        searched += search.states_expanded;
        looked_up += both.states_expanded;
        options.table = true;
        options.promising = false;
        listed += solve(setup, options).actions_evaluated;
        promising += both.actions_evaluated;
    }
    CHECK(looked_up < searched);
    CHECK(promising < listed);
}

TEST("bounds that are updated save joint actions, and change nothing else") {
    std::uint64_t fixed = 0, updated = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        const Description d = shortened(random_team(seed), 3000);
        WithCrgs setup(d, false, {false, false, false, seed % 3 == 0}, seed);
        CoreOptions options = reading(options_of(true, false), seed);
        options.update = false;
        const CoreResult without = solve(setup, options);
        options.update = true;
        const CoreResult with = solve(setup, options);
        CHECK(with.lower == without.lower);
        CHECK(with.decisions.size() == without.decisions.size());
        CHECK(with.states_expanded <= without.states_expanded);
        CHECK(with.actions_evaluated <= without.actions_evaluated);
        fixed += without.actions_evaluated;
        updated += with.actions_evaluated;
    }
    CHECK(updated < fixed);
}

TEST("an agent that is left alone is searched for at any depth") {
    constexpr Index horizon = 20'000;
    // The second agent chooses once whether it can take part in anything.
    const AgentDescription other = agent(
        3, 2, {{0, 0, {{1, 1.0}}}, {0, 1, {{2, 1.0}}}, {1, 0, {{1, 1.0}}}, {2, 0, {{2, 1.0}}}});
    Description d = team(horizon, {one_state(2), other});
    d.entries.push_back(entry(1.0, {when(d, 0, on_actions({0}))}));
    d.entries.push_back(entry(0.25, {when(d, 0, on_actions({1})), when(d, 1, on_states({1}))}));
    WithCrgs setup(d);
    CoreOptions options = options_of(true, false);
    options.table = false;
    const CoreResult result = solve(setup, options);
    CHECK(result.lower == horizon);
    CHECK(result.states_expanded == 2 * horizon - 1);
    CHECK(result.actions_evaluated == result.states_expanded + 1);
}

}  // namespace
}  // namespace coreplan
