#include "add/diagrams.hpp"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "check.hpp"

namespace coreplan {
namespace {

constexpr Index kVariables = 6;

// A function by its truth table: entry k is the value where variable v has bit (kVariables - 1 - v)
// of k.
using Truth = std::vector<double>;

bool bit_of(std::size_t row, Index variable) {
    return ((row >> (kVariables - 1 - variable)) & 1U) != 0;
}

std::size_t with_bit(std::size_t row, Index variable, bool value) {
    const std::size_t bit = std::size_t{1} << (kVariables - 1 - variable);
    return value ? row | bit : row & ~bit;
}

// Few distinct values, so that parts of it are alike; some variables may not matter.
Truth random_truth(std::mt19937_64& draw) {
    Truth truth(std::size_t{1} << kVariables);
    const std::uint64_t kinds = 2 + draw() % 5;
    const std::uint64_t ignored = draw() % truth.size();
    for (std::size_t row = 0; row < truth.size(); ++row) {
        if ((row & ignored) != 0 && draw() % 4 != 0) {
            truth[row] = truth[row & ~ignored];
        } else {
            truth[row] = static_cast<double>(draw() % kinds) - 1.5;
        }
    }
    return truth;
}

std::vector<Index> all_variables() {
    std::vector<Index> all;
    for (Index v = 0; v < kVariables; ++v) all.push_back(v);
    return all;
}

Diagram diagram_of(Diagrams& diagrams, const Truth& truth) {
    std::vector<Diagram> rows;
    for (const double value : truth) rows.push_back(diagrams.constant(value));
    return diagrams.table(all_variables(), rows);
}

Truth truth_of(const Diagrams& diagrams, const Diagram& f) {
    Truth truth;
    for (std::size_t row = 0; row < (std::size_t{1} << kVariables); ++row) {
        std::vector<bool> values;
        for (Index v = 0; v < kVariables; ++v) values.push_back(bit_of(row, v));
        truth.push_back(diagrams.evaluate(f, values));
    }
    return truth;
}

std::vector<Index> random_variables(std::mt19937_64& draw) {
    std::vector<Index> some;
    const std::uint64_t chosen = draw();
    for (Index v = 0; v < kVariables; ++v) {
        if (((chosen >> v) & 1U) != 0) some.push_back(v);
    }
    return some;
}

// Over all values of some variables, one after the other.
Truth gathered(Truth truth, const std::vector<Index>& variables,
               const std::function<double(double, double)>& gather) {
    for (const Index v : variables) {
        Truth next = truth;
        for (std::size_t row = 0; row < truth.size(); ++row) {
            next[row] = gather(truth[with_bit(row, v, false)], truth[with_bit(row, v, true)]);
        }
        truth = next;
    }
    return truth;
}

Truth combined(const Truth& one, const Truth& other,
               const std::function<double(double, double)>& combine) {
    Truth truth;
    for (std::size_t row = 0; row < one.size(); ++row)
        truth.push_back(combine(one[row], other[row]));
    return truth;
}

double add(double a, double b) { return a + b; }
double multiply(double a, double b) { return a * b; }
double larger(double a, double b) { return std::max(a, b); }
double same(double a, double b) { return a == b ? 1 : 0; }

TEST("a diagram has the values of its table, and its size is that of the distinct cofactors") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        std::mt19937_64 draw(seed);
        Monitor monitor;
        Diagrams diagrams(kVariables, monitor);
        const Truth truth = random_truth(draw);
        const Diagram f = diagram_of(diagrams, truth);
        CHECK(truth_of(diagrams, f) == truth);

        // Nodes of level v: the distinct cofactors of the first v variables that depend on v.
        std::vector<std::vector<double>> cofactors;
        for (Index v = 0; v <= kVariables; ++v) {
            const std::size_t size = truth.size() >> v;
            std::vector<std::vector<double>> here;
            for (std::size_t k = 0; k < truth.size(); k += size) {
                const auto begin = truth.begin() + static_cast<std::ptrdiff_t>(k);
                std::vector<double> part(begin, begin + static_cast<std::ptrdiff_t>(size));
                const std::size_t half = size / 2;
                if (size > 1 &&
                    std::equal(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(half),
                               part.begin() + static_cast<std::ptrdiff_t>(half))) {
                    continue;
                }
                if (std::ranges::find(here, part) == here.end()) here.push_back(part);
            }
            cofactors.insert(cofactors.end(), here.begin(), here.end());
        }
        CHECK(diagrams.node_count(f) == cofactors.size());
        CHECK(diagrams.node_count(f) == cofactors.size());  // counting leaves no trace

        const double paths = diagrams.path_count(f);
        CHECK(paths >= 1.0);
        CHECK(paths <= static_cast<double>(truth.size()));
    }
    Monitor monitor;
    Diagrams diagrams(3, monitor);
    const std::vector<Index> two{0, 2};
    CHECK(diagrams.path_count(diagrams.cube(two)) == 3.0);
    CHECK(diagrams.node_count(diagrams.cube(two)) == 4);
}

TEST("equal functions have the same root, however they were made") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        std::mt19937_64 draw(seed);
        Monitor monitor;
        Diagrams diagrams(kVariables, monitor);
        const Truth truth = random_truth(draw);
        const Diagram f = diagram_of(diagrams, truth);
        const Diagram g = diagram_of(diagrams, random_truth(draw));
        CHECK(diagrams.minus(diagrams.plus(f, g), g) == f);
        CHECK(diagrams.plus(diagrams.max(f, g), diagrams.min(f, g)) == diagrams.plus(f, g));
        CHECK(diagrams.minus(f, f) == diagrams.constant(0));

        // From its entries.
        std::vector<std::pair<std::uint64_t, double>> entries;
        for (std::size_t row = 0; row < truth.size(); ++row) {
            if (truth[row] != 0) entries.emplace_back(row, truth[row]);
        }
        CHECK(diagrams.sparse(all_variables(), entries) == f);

        // Row by row, from the outside.
        Diagram sum = diagrams.constant(0);
        for (std::size_t row = 0; row < truth.size(); ++row) {
            std::vector<std::pair<Index, bool>> values;
            for (Index v = 0; v < kVariables; ++v) values.emplace_back(v, bit_of(row, v));
            sum = diagrams.plus(
                sum, diagrams.times(diagrams.literals(values), diagrams.constant(truth[row])));
        }
        CHECK(sum == f);

        // From its cofactors.
        const auto v = static_cast<Index>(0);
        const std::vector<std::pair<Index, bool>> no{{v, false}}, yes{{v, true}};
        CHECK(diagrams.decide(v, diagrams.restrict(f, diagrams.literals(no)),
                              diagrams.restrict(f, diagrams.literals(yes))) == f);
    }
}

TEST("operations point by point do what they do to numbers") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const testing::Context context("seed", seed);
        std::mt19937_64 draw(seed);
        Monitor monitor;
        Diagrams diagrams(kVariables, monitor);
        const Truth one = random_truth(draw), other = random_truth(draw);
        const Diagram f = diagram_of(diagrams, one), g = diagram_of(diagrams, other);
        CHECK(truth_of(diagrams, diagrams.plus(f, g)) == combined(one, other, add));
        CHECK(truth_of(diagrams, diagrams.times(f, g)) == combined(one, other, multiply));
        CHECK(truth_of(diagrams, diagrams.max(f, g)) == combined(one, other, larger));
        CHECK(truth_of(diagrams, diagrams.equal(f, g)) == combined(one, other, same));
        CHECK(diagrams.equal(f, f) == diagrams.constant(1));
        CHECK(truth_of(diagrams, diagrams.min(f, g)) ==
              combined(one, other, [](double a, double b) { return std::min(a, b); }));
        CHECK(truth_of(diagrams, diagrams.minus(f, g)) ==
              combined(one, other, [](double a, double b) { return a - b; }));
        // Operands are as they were.
        CHECK(truth_of(diagrams, f) == one);
        CHECK(truth_of(diagrams, g) == other);
    }
}

TEST("variables can be fixed, summed out and maximised out") {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        const testing::Context context("seed", seed);
        std::mt19937_64 draw(seed);
        Monitor monitor;
        Diagrams diagrams(kVariables, monitor);
        const Truth one = random_truth(draw), other = random_truth(draw);
        const Diagram f = diagram_of(diagrams, one), g = diagram_of(diagrams, other);
        const std::vector<Index> some = random_variables(draw);
        const Diagram cube = diagrams.cube(some);

        std::vector<std::pair<Index, bool>> fixed;
        for (const Index v : some) fixed.emplace_back(v, draw() % 2 == 0);
        Truth expected = one;
        for (std::size_t row = 0; row < one.size(); ++row) {
            std::size_t from = row;
            for (const auto& [v, value] : fixed) from = with_bit(from, v, value);
            expected[row] = one[from];
        }
        CHECK(truth_of(diagrams, diagrams.restrict(f, diagrams.literals(fixed))) == expected);

        CHECK(truth_of(diagrams, diagrams.sum_out(f, cube)) == gathered(one, some, add));
        CHECK(truth_of(diagrams, diagrams.max_out(f, cube)) == gathered(one, some, larger));
        CHECK(truth_of(diagrams, diagrams.sum_of_products(f, g, cube)) ==
              gathered(combined(one, other, multiply), some, add));
        CHECK(truth_of(diagrams, diagrams.max_of_sums(f, g, cube)) ==
              gathered(combined(one, other, add), some, larger));
        CHECK(diagrams.sum_of_products(f, g, cube) == diagrams.sum_out(diagrams.times(g, f), cube));
        CHECK(diagrams.max_of_sums(f, g, cube) == diagrams.max_out(diagrams.plus(g, f), cube));
    }
}

TEST("an expectation over a variable of known chances is a weighted sum") {
    Monitor monitor;
    Diagrams diagrams(2, monitor);
    const std::vector<Index> first{0}, second{1};
    const std::vector<Diagram> chances{diagrams.constant(0.25), diagrams.constant(0.75)};
    const std::vector<Diagram> values{diagrams.constant(-4), diagrams.constant(8)};
    const Diagram law = diagrams.table(second, chances);
    const Diagram value = diagrams.table(second, values);
    const Diagram cube = diagrams.cube(second);
    CHECK(diagrams.sum_of_products(law, value, cube) == diagrams.constant(5));
    CHECK(diagrams.sum_of_products(law, diagrams.constant(3), cube) == diagrams.constant(3));
    // Where the law depends on another variable, so does the expectation.
    const Diagram either = diagrams.decide(
        0, law,
        diagrams.table(second, std::vector<Diagram>{diagrams.constant(1), diagrams.constant(0)}));
    CHECK(diagrams.sum_of_products(either, value, cube) ==
          diagrams.table(first, std::vector<Diagram>{diagrams.constant(5), diagrams.constant(-4)}));
}

TEST("rows that a table lacks share the values of others") {
    Monitor monitor;
    Diagrams diagrams(3, monitor);
    const std::vector<Index> all{0, 1, 2};
    for (std::size_t rows = 1; rows <= 8; ++rows) {
        const testing::Context context("rows", rows);
        std::vector<Diagram> given;
        for (std::size_t k = 0; k < rows; ++k) {
            given.push_back(diagrams.constant(static_cast<double>(k + 1)));
        }
        const Diagram f = diagrams.table(all, given);
        for (std::size_t k = 0; k < 8; ++k) {
            const std::vector<bool> values{(k & 4U) != 0, (k & 2U) != 0, (k & 1U) != 0};
            const double value = diagrams.evaluate(f, values);
            if (k < rows) {
                CHECK(value == static_cast<double>(k + 1));
            } else {
                CHECK(value >= 1.0);
                CHECK(value <= static_cast<double>(rows));
            }
        }
        // One terminal per row, and one test fewer: nothing is spent on what there is not.
        CHECK(diagrams.node_count(f) == 2 * rows - 1);
    }
}

TEST("numbers without a row all stand for one number with a row, the same in every table") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        std::mt19937_64 draw(seed);
        Monitor monitor;
        Diagrams diagrams(kVariables, monitor);
        std::vector<std::uint64_t> numbers;
        for (std::uint64_t k = 0; k < (std::uint64_t{1} << kVariables); ++k) {
            if (draw() % 4 == 0) numbers.push_back(k);
        }
        if (numbers.empty()) numbers.push_back(draw() % (std::uint64_t{1} << kVariables));
        // A table of the numbers themselves tells what each stands for.
        std::vector<std::pair<std::uint64_t, Diagram>> itself, other;
        Truth value(std::size_t{1} << kVariables);
        for (const std::uint64_t k : numbers) {
            value[k] = static_cast<double>(draw() % 3);
            itself.emplace_back(k, diagrams.constant(static_cast<double>(k)));
            other.emplace_back(k, diagrams.constant(value[k]));
        }
        const Truth means = truth_of(diagrams, diagrams.table(all_variables(), itself));
        const Truth has = truth_of(diagrams, diagrams.table(all_variables(), other));
        for (const std::uint64_t k : numbers) CHECK(means[k] == static_cast<double>(k));
        for (std::size_t k = 0; k < means.size(); ++k) {
            const auto meant = static_cast<std::uint64_t>(means[k]);
            CHECK(std::ranges::find(numbers, meant) != numbers.end());
            CHECK(has[k] == value[meant]);
        }
    }
    Monitor monitor;
    Diagrams diagrams(kVariables, monitor);
    const std::vector<Index> two{0, 1};
    const std::vector<std::pair<std::uint64_t, Diagram>> none;
    const std::vector<std::pair<std::uint64_t, Diagram>> beyond{{4, diagrams.constant(1)}};
    CHECK_THROWS(std::invalid_argument, diagrams.table(two, none));
    CHECK_THROWS(std::invalid_argument, diagrams.table(two, beyond));
}

TEST("renaming moves a function to other variables") {
    Monitor monitor;
    Diagrams diagrams(6, monitor);
    const std::vector<Index> lower{0, 1, 2}, upper{1, 3, 5};
    std::vector<Diagram> rows;
    for (int k = 0; k < 8; ++k) rows.push_back(diagrams.constant(k * k % 5));
    const Diagram f = diagrams.table(lower, rows);
    const std::vector<Index> to{1, 3, 5, 0, 0, 0};
    CHECK(diagrams.rename(f, to) == diagrams.table(upper, rows));
    const std::vector<Index> same{0, 1, 2, 3, 4, 5};
    CHECK(diagrams.rename(f, same) == f);
    const std::vector<Index> turned{2, 1, 0, 3, 4, 5};
    CHECK_THROWS(std::invalid_argument, diagrams.rename(f, turned));
    CHECK_THROWS(std::invalid_argument, diagrams.rename(f, lower));
}

TEST("numbers are compared by their bits, zero has no sign, and all are finite") {
    Monitor monitor;
    Diagrams diagrams(1, monitor);
    CHECK(diagrams.constant(-0.0) == diagrams.constant(0.0));
    CHECK(!std::signbit(diagrams.value(diagrams.constant(-0.0).root())));
    CHECK(diagrams.constant(0.1 + 0.2) != diagrams.constant(0.3));
    const double huge = std::numeric_limits<double>::max();
    CHECK_THROWS(std::overflow_error, diagrams.constant(std::numeric_limits<double>::infinity()));
    CHECK_THROWS(std::overflow_error, diagrams.constant(std::nan("")));
    CHECK_THROWS(std::overflow_error,
                 diagrams.plus(diagrams.constant(huge), diagrams.constant(huge)));
}

TEST("what makes no sense is refused") {
    Monitor monitor;
    Diagrams diagrams(2, monitor), others(2, monitor);
    const Diagram one = diagrams.constant(1);
    const std::vector<Index> second{1}, both{0, 1}, turned{1, 0}, beyond{2};
    const std::vector<Diagram> pair{one, diagrams.constant(2)};
    const Diagram f = diagrams.table(second, pair);
    CHECK_THROWS(std::invalid_argument, diagrams.decide(1, f, one));
    CHECK_THROWS(std::invalid_argument, diagrams.decide(2, one, one));
    CHECK_THROWS(std::invalid_argument, diagrams.cube(turned));
    CHECK_THROWS(std::invalid_argument, diagrams.cube(beyond));
    CHECK_THROWS(std::invalid_argument, diagrams.table(second, std::vector<Diagram>{}));
    CHECK_THROWS(std::invalid_argument,
                 diagrams.table(second, std::vector<Diagram>{one, one, one}));
    const std::vector<std::pair<std::uint64_t, double>> large{{2, 1.0}}, twice{{1, 1.0}, {1, 2.0}};
    CHECK_THROWS(std::invalid_argument, diagrams.sparse(second, large));
    CHECK_THROWS(std::invalid_argument, diagrams.sparse(both, twice));
    CHECK_THROWS(std::invalid_argument, diagrams.plus(one, others.constant(1)));
    CHECK_THROWS(std::invalid_argument, diagrams.plus(one, Diagram()));
    CHECK_THROWS(std::invalid_argument, Diagrams(Diagrams::kMostVariables + 1, monitor));
}

TEST("operations go as deep as there can be variables") {
    Monitor monitor;
    Diagrams diagrams(Diagrams::kMostVariables, monitor);
    std::vector<Index> all;
    for (Index v = 0; v < Diagrams::kMostVariables; ++v) all.push_back(v);
    const Diagram cube = diagrams.cube(all);
    const Diagram sum = diagrams.plus(cube, diagrams.times(cube, diagrams.constant(2)));
    CHECK(diagrams.max_out(sum, cube) == diagrams.constant(3));
    diagrams.collect();
    CHECK(diagrams.node_count(sum) == std::size_t{Diagrams::kMostVariables} + 2);
}

}  // namespace
}  // namespace coreplan
