// How decision diagrams behave when nodes are collected and when limits strike.
#include <cmath>
#include <random>

#include "add/diagrams.hpp"
#include "check.hpp"
#include "clocks.hpp"

namespace coreplan {
namespace {

std::vector<Index> range(Index count) {
    std::vector<Index> all;
    for (Index v = 0; v < count; ++v) all.push_back(v);
    return all;
}

// A function without structure: 2^variables distinct values.
Diagram noise(Diagrams& diagrams, Index variables, std::uint64_t seed) {
    std::mt19937_64 draw(seed);
    std::vector<std::pair<std::uint64_t, double>> entries;
    for (std::uint64_t k = 0; k < (std::uint64_t{1} << variables); ++k) {
        entries.emplace_back(k, static_cast<double>(draw() >> 32U));
    }
    return diagrams.sparse(range(variables), entries);
}

TEST("nodes live as long as somebody holds them") {
    Monitor monitor;
    Diagrams diagrams(8, monitor);
    diagrams.collect();
    const std::size_t before = diagrams.nodes_in_use();
    Diagram kept;
    {
        Diagram f = noise(diagrams, 8, 1);
        const Diagram copy = f;  // NOLINT(performance-unnecessary-copy-initialization)
        kept = copy;
        f = diagrams.constant(0);
        const Diagram g = noise(diagrams, 8, 2);
        diagrams.collect();
        CHECK(diagrams.nodes_in_use() > before + 900);
    }
    const std::size_t size = diagrams.node_count(kept);
    diagrams.collect();
    CHECK(diagrams.nodes_in_use() <= size + before);
    CHECK(noise(diagrams, 8, 1) == kept);
    Diagram moved = std::move(kept);
    CHECK(noise(diagrams, 8, 1) == moved);
    moved = Diagram();
    diagrams.collect();
    CHECK(diagrams.nodes_in_use() == before);
    CHECK(diagrams.collections() == 4);
}

TEST("collections in the midst of work change no result") {
    Monitor monitor, other;
    Diagrams diagrams(10, monitor), calm(10, other);
    const std::vector<Index> some{1, 4, 7};
    const Diagram cube = diagrams.cube(some), calm_cube = calm.cube(some);
    Diagram total = diagrams.constant(0), expected = calm.constant(0);
    std::vector<Diagram> kept;
    for (std::uint64_t round = 0; round < 60; ++round) {
        const Diagram f = noise(diagrams, 10, round), g = noise(diagrams, 10, round + 1);
        const Diagram x = noise(calm, 10, round), y = noise(calm, 10, round + 1);
        if (round % 3 == 0) diagrams.collect();
        total = diagrams.max(total, diagrams.sum_of_products(f, g, cube));
        expected = calm.max(expected, calm.sum_of_products(x, y, calm_cube));
        if (round % 10 == 0) kept.push_back(f);
    }
    CHECK(diagrams.collections() >= 20);
    CHECK(calm.collections() > 0);  // by itself, when it was worth it
    CHECK(diagrams.nodes_in_use() < diagrams.peak_nodes());
    for (std::uint64_t row = 0; row < 1024; ++row) {
        std::vector<bool> values;
        for (Index v = 0; v < 10; ++v) values.push_back(((row >> (9 - v)) & 1U) != 0);
        CHECK(diagrams.evaluate(total, values) == calm.evaluate(expected, values));
    }
    for (std::size_t k = 0; k < kept.size(); ++k) CHECK(kept[k] == noise(diagrams, 10, 10 * k));
}

TEST("memory is asked for before it is taken, and given back") {
    Monitor monitor(Monitor::kNoLimit, 2e6);
    {
        Diagrams diagrams(16, monitor);
        const Diagram small = noise(diagrams, 8, 1);
        const LimitReached struck = testing::caught<LimitReached>([&] { noise(diagrams, 16, 2); });
        CHECK(struck.stop == Stop::memory_limit);
        CHECK(monitor.reserved() > 0.0);
        CHECK(monitor.reserved() <= 2e6);
        // What there was before is as it was, and there is room to go on.
        CHECK(noise(diagrams, 8, 1) == small);
        CHECK(diagrams.plus(small, small) == diagrams.times(small, diagrams.constant(2)));
    }
    CHECK(monitor.reserved() == 0.0);
    Monitor none(Monitor::kNoLimit, 10);
    CHECK_THROWS(LimitReached, Diagrams(1, none));
}

TEST("an operation that runs out of memory goes on with what a collection frees") {
    Monitor monitor(Monitor::kNoLimit, 4e6);
    Diagrams diagrams(12, monitor);
    Diagram total = diagrams.constant(0);
    // Far more than fits in all, little at a time.
    for (std::uint64_t round = 0; round < 100; ++round) {
        total = diagrams.max(total, noise(diagrams, 12, round));
    }
    CHECK(diagrams.collections() > 2);
    CHECK(diagrams.node_count(total) > 4000);
}

TEST("a limit that strikes within an operation leaves all diagrams intact") {
    int struck = 0;
    Stop answer = Stop::none;
    Monitor monitor = clocks::watched([&](const Progress&) { return answer; });
    Diagrams diagrams(40, monitor);
    // Sums of agents' values: 3^k distinct sums, so that an operation takes long.
    Diagram sum = diagrams.constant(0);
    Diagram small;
    const Diagram twin = noise(diagrams, 10, 3);
    try {
        for (Index v = 0; v < 40; ++v) {
            if (v == 12) {
                small = sum;
                answer = Stop::interrupted;
            }
            const std::vector<Index> mine{v};
            const std::vector<Diagram> values{diagrams.constant(0),
                                              diagrams.constant(std::pow(1.37, v))};
            sum = diagrams.plus(sum, diagrams.table(mine, values));
        }
    } catch (const LimitReached& limit) {
        CHECK(limit.stop == Stop::interrupted);
        ++struck;
    }
    CHECK(struck == 1);
    CHECK(monitor.stop() == Stop::interrupted);
    diagrams.collect();
    CHECK(diagrams.node_count(small) > 4096);
    double expected = 0;
    for (Index v = 0; v < 12; v += 2) expected += std::pow(1.37, v);
    std::vector<bool> values(40, false);
    for (Index v = 0; v < 40; v += 2) values[v] = true;
    CHECK_NEAR(diagrams.evaluate(small, values), expected, 1e-12 * expected);
    CHECK(diagrams.node_count(twin) == 2047);
}

}  // namespace
}  // namespace coreplan
