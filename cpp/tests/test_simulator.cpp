#include "simulation/simulator.hpp"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "check.hpp"
#include "clocks.hpp"

namespace coreplan {
namespace {

// One agent with two states and a choice in each: from 0 it gets to 1 with a chance of 0.3, from 1
// it stays there. An event is counted when it gets there.
SimulatedAgent walker() { return {0, {0, 3, 4}, {0, 1, 0, 1}, {0.7, 0.3, 0.0, 1.0}, {}, 0}; }

SimulatedAgent watched_walker() {
    SimulatedAgent agent = walker();
    agent.outcome_event = {kNoEvent, 0, kNoEvent, kNoEvent};
    agent.event_count = 1;
    return agent;
}

// 1 is earned for each of two walkers that gets there, 10 if both do so at once, at stages 1 and 2.
RewardTable own(Index agent, std::size_t sum) {
    return {{AgentId{agent}}, {{0, 1, 0, 0}}, {2}, CellKind::combination, sum, {}, {0.0, 1.0}};
}
RewardTable both(CellKind kind) {
    std::vector<double> values{0.0, 10.0};
    if (kind == CellKind::combination) values = {0.0, 0.0, 0.0, 10.0};
    if (kind == CellKind::sum) values = {0.0, 0.0, 10.0};
    return {{AgentId{0}, AgentId{1}},
            {{0, 1, 0, 0}, {0, 1, 0, 0}},
            {2, 2},
            kind,
            2,
            {kNothing, 0, 0},
            values};
}

Simulator two_walkers(Monitor& monitor, CellKind kind = CellKind::combination) {
    return {3,
            3,
            {watched_walker(), walker()},
            {{AgentId{0}}, {AgentId{1}}},
            {own(0, 0), own(1, 1), both(kind)},
            {1, 2},
            monitor};
}

// Everybody takes the one choice that their state has.
std::vector<double> run(Simulator& simulator, std::size_t runs, unsigned threads) {
    simulator.begin(runs);
    while (!simulator.advance(threads)) {
        CHECK(!simulator.questions().empty());
        if (simulator.questions().empty()) return {};
        for (std::size_t q = 0; q < simulator.questions().size(); ++q) {
            simulator.answer(q, simulator.questions()[q].states);
        }
    }
    return simulator.totals();
}

TEST("means, events and cells have the law of the description") {
    for (const CellKind kind : {CellKind::combination, CellKind::all, CellKind::sum}) {
        Monitor monitor;
        Simulator simulator = two_walkers(monitor, kind);
        constexpr std::size_t kRuns = 100 * Simulator::kBlock;
        const std::vector<double> totals = run(simulator, kRuns, 2);
        CHECK(totals.size() == kRuns);
        const double there = 0.3 + 0.7 * 0.3 + 0.49 * 0.3;
        const double at_once = std::pow(0.7 * 0.3, 2) + std::pow(0.49 * 0.3, 2);
        const double runs = kRuns;
        const double mean = std::accumulate(totals.begin(), totals.end(), 0.0) / runs;
        CHECK_NEAR(mean, 2 * there + 10 * at_once, 0.05);
        CHECK_NEAR(simulator.moments()[0].mean, there, 0.01);
        CHECK_NEAR(simulator.moments()[0].squares / runs, there * (1 - there), 0.01);
        CHECK_NEAR(simulator.moments()[2].mean, 10 * at_once, 0.05);
        double sums = 0;
        for (const Moments& each : simulator.moments()) sums += each.mean;
        CHECK_NEAR(sums, mean, 1e-9);
        CHECK(simulator.events(1).empty());
        for (std::size_t stage = 0; stage < 3; ++stage) {
            const double share = static_cast<double>(simulator.events(0)[stage]) / runs;
            CHECK_NEAR(share, std::pow(0.7, static_cast<double>(stage)) * 0.3, 0.01);
        }
        CHECK_NEAR(static_cast<double>(simulator.seen(2).back()) / runs, at_once, 0.01);
        CHECK(std::accumulate(simulator.seen(2).begin(), simulator.seen(2).end(), 0ULL) ==
              2 * kRuns);
    }
}

TEST("runs are the same on any number of threads, begun together or one after the other") {
    Monitor monitor;
    Simulator one = two_walkers(monitor);
    Simulator other = two_walkers(monitor);
    const std::vector<double> totals = run(one, 5000, 1);
    std::vector<double> pieces = run(other, 2 * Simulator::kBlock, 3);
    other.forget();
    const std::vector<double> rest = run(other, 5000 - 2 * Simulator::kBlock, 4);
    pieces.insert(pieces.end(), rest.begin(), rest.end());
    CHECK(totals == pieces);
    CHECK(one.runs() == other.runs());
    CHECK(one.moments()[2].mean == other.moments()[2].mean);
    CHECK(one.moments()[2].squares == other.moments()[2].squares);
    CHECK(one.seen(2) == other.seen(2));
    CHECK(one.events(0) == other.events(0));
}

TEST("chances that do not add up to 1 count as they are") {
    Monitor monitor;
    SimulatedAgent lossy = walker();
    lossy.outcome_probability = {0.0, 0.5, 0.0, 0.5};
    Simulator simulator(
        2, 1, {lossy}, {{AgentId{0}}},
        {{{AgentId{0}}, {{0, 1, 0, 1}}, {2}, CellKind::combination, 0, {}, {0.0, 8.0}}}, {1, 2},
        monitor);
    for (const double total : run(simulator, 10, 1)) CHECK(total == 4.0 + 2.0);
}

TEST("a limit stops the runs, and those begun count for nothing") {
    Monitor monitor = clocks::watched([](const Progress&) { return Stop::interrupted; });
    Simulator simulator = two_walkers(monitor);
    simulator.begin(1000 * Simulator::kBlock);
    while (!simulator.advance(2) && !simulator.questions().empty()) {
        for (std::size_t q = 0; q < simulator.questions().size(); ++q) {
            simulator.answer(q, simulator.questions()[q].states);
        }
    }
    CHECK(monitor.stop() == Stop::interrupted);
    CHECK(simulator.runs() == 0);
    CHECK(simulator.seen(0).front() == 0);
}

TEST("what does not fit together is refused") {
    Monitor monitor;
    const auto make = [&](SimulatedAgent agent, std::vector<std::vector<AgentId>> parts,
                          RewardTable table) {
        return Simulator(3, 1, {std::move(agent)}, std::move(parts), {std::move(table)}, {1, 2},
                         monitor)
            .runs();
    };
    const std::vector<std::vector<AgentId>> alone{{AgentId{0}}};
    CHECK(make(walker(), alone, own(0, 0)) == 0);
    SimulatedAgent shorter = walker();
    shorter.outcome_probability.pop_back();
    CHECK_THROWS(std::invalid_argument, make(shorter, alone, own(0, 0)));
    CHECK_THROWS(std::invalid_argument, make(walker(), {}, own(0, 0)));
    CHECK_THROWS(std::invalid_argument, make(walker(), {{AgentId{0}, AgentId{0}}}, own(0, 0)));
    CHECK_THROWS(std::invalid_argument, make(walker(), alone, own(1, 0)));
    CHECK_THROWS(std::invalid_argument, make(walker(), alone, own(0, 1)));
    RewardTable wrong = own(0, 0);
    wrong.classes[0][0] = 2;
    CHECK_THROWS(std::invalid_argument, make(walker(), alone, wrong));
    wrong = own(0, 0);
    wrong.variant_at = {0, 1, 0};
    CHECK_THROWS(std::invalid_argument, make(walker(), alone, wrong));
    Simulator simulator = two_walkers(monitor);
    simulator.begin(5);
    CHECK(!simulator.advance(1));
    CHECK_THROWS(std::invalid_argument, simulator.answer(0, {0, 0, 0}));
    CHECK_THROWS(std::invalid_argument, simulator.answer(0, {9}));
}

}  // namespace
}  // namespace coreplan
