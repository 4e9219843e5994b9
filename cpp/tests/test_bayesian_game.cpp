#include "decentralised/bayesian_game.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "check.hpp"

namespace coreplan {
namespace {

// A random game; payoffs are coarse, so that there are ties.
BayesianGame random_game(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    BayesianGame game;
    const std::size_t agents = 1 + random() % 3;
    std::size_t cells = 1;
    for (std::size_t i = 0; i < agents; ++i) {
        auto& begin = game.move_begin.emplace_back(1, 0);
        auto& chance = game.chance.emplace_back();
        const std::size_t types = 1 + random() % (agents == 3 ? 2 : 3);
        for (std::size_t k = 0; k < types; ++k) {
            begin.push_back(begin.back() + 1 + static_cast<Index>(random() % 3));
            chance.push_back(static_cast<double>(1 + random() % 9) / 10);
        }
        cells *= begin.back();
    }
    for (std::size_t k = 0; k < cells; ++k) {
        game.payoff.push_back(static_cast<double>(random() % 21) - 10);
    }
    return game;
}

double value_of_solution(const BayesianGame& game, const GameSolution& solution) {
    const std::size_t n = game.agent_count();
    double total = 0;
    std::function<void(std::size_t, std::size_t)> add = [&](std::size_t i, std::size_t offset) {
        if (i == n) {
            total += game.payoff[offset];
            return;
        }
        for (std::size_t k = 0; k < game.type_count(i); ++k) {
            add(i + 1, offset * game.move_count(i) + game.move_begin[i][k] + solution[i][k]);
        }
    };
    add(0, 0);
    return total;
}

// The values of all solutions, best first, by looking at each.
std::vector<double> all_values(const BayesianGame& game) {
    GameSolution solution;
    for (std::size_t i = 0; i < game.agent_count(); ++i)
        solution.emplace_back(game.type_count(i), 0);
    std::vector<double> values;
    for (;;) {
        values.push_back(value_of_solution(game, solution));
        bool more = false;
        for (std::size_t i = 0; !more && i < game.agent_count(); ++i) {
            for (std::size_t k = 0; !more && k < game.type_count(i); ++k) {
                more = ++solution[i][k] < game.move_begin[i][k + 1] - game.move_begin[i][k];
                if (!more) solution[i][k] = 0;
            }
        }
        if (!more) break;
    }
    std::ranges::sort(values, std::greater<>{});
    return values;
}

constexpr double kNoFloor = -std::numeric_limits<double>::infinity();

TEST("a game's solutions come one by one, the best first, each once, with their values") {
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const testing::Context context("seed", seed);
        const BayesianGame game = random_game(seed);
        const std::vector<double> expected = all_values(game);
        Monitor monitor;
        GameSolver solver(game);
        std::set<GameSolution> seen;
        for (const double value : expected) {
            const double bound = solver.bound();
            CHECK(solver.next(kNoFloor, monitor) == GameSolver::Step::found);
            CHECK_NEAR(solver.value(), value, 1e-9);
            CHECK_NEAR(value_of_solution(game, solver.solution()), value, 1e-9);
            CHECK(bound >= value - 1e-9);
            CHECK(seen.insert(solver.solution()).second);
        }
        CHECK(solver.next(kNoFloor, monitor) == GameSolver::Step::exhausted);
        CHECK(solver.bound() == kNoFloor);
    }
}

TEST("with a floor, exactly the solutions above it come, and what is left out is no better") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        const BayesianGame game = random_game(seed);
        const std::vector<double> expected = all_values(game);
        const double floor = expected[expected.size() / 3] + 0.5;
        const auto above =
            std::ranges::count_if(expected, [&](double value) { return value > floor; });
        Monitor monitor;
        GameSolver solver(game);
        for (std::ptrdiff_t k = 0; k < above; ++k) {
            CHECK(solver.next(floor, monitor) == GameSolver::Step::found);
        }
        CHECK(solver.next(floor, monitor) == GameSolver::Step::exhausted);
        CHECK(solver.left_out() <= floor);
        if (static_cast<std::size_t>(above) < expected.size()) {
            CHECK(solver.left_out() >= expected[static_cast<std::size_t>(above)] - 1e-9);
        }
    }
}

TEST("a game that is stopped again and again loses nothing") {
    BayesianGame game;
    std::mt19937_64 random(3);
    for (int i = 0; i < 2; ++i) {
        auto& begin = game.move_begin.emplace_back(1, 0);
        for (int k = 0; k < 4; ++k) begin.push_back(begin.back() + 3);
        game.chance.emplace_back(4, 0.25);
    }
    for (int k = 0; k < 144; ++k) game.payoff.push_back(static_cast<double>(random() % 1000));
    GameSolver solver(game);
    Monitor patient;
    std::vector<double> found;
    int stops = 0;
    for (auto step = GameSolver::Step::found; step != GameSolver::Step::exhausted;) {
        Monitor hasty(0);  // looks at the clock at once, then after some work
        step = solver.next(kNoFloor, hasty);
        if (step == GameSolver::Step::stopped) {
            ++stops;
            step = solver.next(kNoFloor, patient);
        }
        if (step == GameSolver::Step::found) found.push_back(solver.value());
    }
    CHECK(stops > 1000);
    const std::vector<double> expected = all_values(game);
    CHECK(found.size() == expected.size());
    for (std::size_t k = 0; k < std::min(found.size(), expected.size()); ++k) {
        CHECK_NEAR(found[k], expected[k], 1e-9);
    }
}

TEST("a large game with a clear answer is solved without looking at all solutions") {
    // Two agents with eight types of three actions each: 3^16 solutions. Both should do the same.
    BayesianGame game;
    for (int i = 0; i < 2; ++i) {
        auto& begin = game.move_begin.emplace_back(1, 0);
        for (int k = 0; k < 8; ++k) begin.push_back(begin.back() + 3);
        game.chance.emplace_back(8, 0.125);
    }
    for (Index one = 0; one < 24; ++one) {
        for (Index other = 0; other < 24; ++other) {
            game.payoff.push_back(one % 3 == other % 3 ? 1 + 0.1 * (one % 3) : 0);
        }
    }
    Monitor monitor;
    GameSolver solver(game);
    CHECK(solver.next(kNoFloor, monitor) == GameSolver::Step::found);
    CHECK_NEAR(solver.value(), 64 * 1.2, 1e-9);
    CHECK(solver.partial_solutions() < 200);
}

}  // namespace
}  // namespace coreplan
