#include "search/group_search.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "check.hpp"
#include "clocks.hpp"
#include "groups.hpp"
#include "problems.hpp"
#include "teams.hpp"

namespace coreplan {
namespace {

using namespace problems;

constexpr double kNone = -std::numeric_limits<double>::infinity();

// A model, its optimum, and what a search goes by: the worse that is, the more it has to do.
struct Case {
    Case(CompiledModel made, std::uint64_t seed, int rounds = 2, int policies = 3)
        : model(std::move(made)), relaxation(model, {}, monitor) {
        for (int k = 0; k < rounds; ++k) relaxation.step(kNone, monitor);
        std::mt19937_64 random(seed);
        for (int k = 0; k < policies; ++k) given.push_back(groups::random_policy(model, random));
        optimum = solve_team(model, model.everyone(), {.policy = false}, monitor).value;
        const double scale = std::max(1.0, reward_scale(model));
        slack = (model.unit_mass ? 1e-11 : 1e-7) * scale;
        tolerance = 2 * slack + 2 * relaxation.error();
    }
    [[nodiscard]] std::unique_ptr<GroupSearch> search(const GroupSearchOptions& options) {
        return std::make_unique<GroupSearch>(model, relaxation, given, options, monitor);
    }
    void check_bounds(const GroupSearch& search) const {
        CHECK(search.lower() <= optimum + slack);
        CHECK(search.upper() >= optimum - slack);
    }
    void check_closed(const GroupSearch& search) const {
        CHECK_NEAR(search.lower(), optimum, tolerance + slack);
        CHECK_NEAR(search.upper(), optimum, tolerance + slack);
    }

    Monitor monitor;
    CompiledModel model;
    Relaxation relaxation;
    std::vector<LocalPolicy> given;
    double optimum = 0;
    double slack = 0;
    double tolerance = 0;
};

Case random_case(std::uint64_t seed) {
    return Case(compiled(any_team(seed), seed % 3 != 0), seed, static_cast<int>(seed % 4),
                1 + static_cast<int>(seed % 3));
}

constexpr GroupSearchOptions kNoTables{.tables = false};

// Work of about so many seconds.
std::uint64_t work_of(double seconds) {
    return static_cast<std::uint64_t>(seconds * cost::kUnitsPerSecond);
}

std::vector<std::pair<const char*, GroupSearchOptions>> variants() {
    std::vector<std::pair<const char*, GroupSearchOptions>> all{{"all", {}},
                                                                {"no tables", kNoTables}};
    for (const bool tables : {true, false}) {
        all.push_back({"no split", {.split = false, .tables = tables}});
        all.push_back({"no skip", {.skip = false, .tables = tables}});
        all.push_back({"no floors", {.floors = false, .tables = tables}});
    }
    all.push_back({"nothing", {.split = false, .skip = false, .floors = false, .tables = false}});
    return all;
}

// Runs a check with one of the variants.
template <class Check>
void check_variant(Case& c, std::uint64_t seed, const Check& check) {
    const auto all = variants();
    const auto& [name, options] = all[seed % all.size()];
    const testing::Context variant("variant", name);
    check(c, options);
}

TEST("bounds bracket the optimum after every slice, never get worse, and meet there") {
    std::uint64_t slices = 0;
    const auto check = [&](Case& c, const GroupSearchOptions& options) {
        const auto search = c.search(options);
        c.check_bounds(*search);
        double lower = search->lower();
        double upper = search->upper();
        bool found = false;
        for (double seconds = 1e-6; !found; seconds *= 1.1) {
            found = search->run(work_of(seconds), c.tolerance, c.monitor);
            c.check_bounds(*search);
            CHECK(search->lower() >= lower - c.slack);
            CHECK(search->upper() <= upper + c.slack);
            lower = search->lower();
            upper = search->upper();
            ++slices;
        }
        c.check_closed(*search);
        CHECK(!search->full());
    };
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        const testing::Context context("seed", seed);
        Case c = random_case(seed);
        check(c, kNoTables);
        if (seed % 5 == 0) check(c, {});
    }
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(5 + static_cast<Index>(seed % 3), 5, seed, seed % 2 == 1), seed);
        check(c, kNoTables);
    }
    CHECK(slices > 300);
}

TEST("every idea of the search can be left out") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const testing::Context context("seed", seed);
        Case c = random_case(seed);
        for (const auto& [name, options] : variants()) {
            const testing::Context variant("variant", name);
            const auto search = c.search(options);
            CHECK(search->run(work_of(10), c.tolerance, c.monitor));
            c.check_closed(*search);
        }
    }
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(5, 4, seed, seed % 2 == 1), seed);
        for (const auto& [name, options] : variants()) {
            const testing::Context variant("variant", name);
            const auto search = c.search(options);
            CHECK(search->run(work_of(10), c.tolerance, c.monitor));
            c.check_closed(*search);
        }
    }
}

TEST("one thread does the same every time") {
    Case c(teams::ring(6, 5, 3), 3);
    std::vector<std::uint64_t> counts;
    for (int round = 0; round < 2; ++round) {
        const auto search = c.search(kNoTables);
        CHECK(search->run(work_of(10), c.tolerance, c.monitor));
        counts.push_back(search->expanded());
        counts.push_back(search->actions());
        counts.push_back(search->records());
    }
    CHECK(counts[0] == counts[3]);
    CHECK(counts[1] == counts[4]);
    CHECK(counts[2] == counts[5]);
    CHECK(counts[0] > 0);
}

TEST(
    "decisions are worth no less than they say, nor than the lower bound, whenever they are asked "
    "for") {
    int unfinished = 0;
    const auto check = [&](Case& c, const GroupSearchOptions& options) {
        const auto search = c.search(options);
        bool found = false;
        for (int slice = 0; slice < 6 && !found; ++slice) {
            found = slice == 5 ? search->run(work_of(10), c.tolerance, c.monitor)
                               : slice > 0 && search->run(work_of(2e-5), c.tolerance, c.monitor);
            const double lower = search->lower();
            const GroupDecisions decisions = search->decisions(100'000, 0.0, c.monitor);
            CHECK(decisions.sound);
            CHECK(decisions.whole);
            CHECK(decisions.value >= lower - c.slack);
            CHECK(decisions.value <= c.optimum + c.slack);
            const double worth = groups::worth(c.model, search->couplings(), decisions,
                                               search->usual(), options.split);
            CHECK(worth >= decisions.value - c.slack);
            CHECK(worth <= c.optimum + c.slack);
            c.check_bounds(*search);
            if (!found) ++unfinished;
        }
        CHECK(found);
        const GroupDecisions decisions = search->decisions(100'000, 0.0, c.monitor);
        CHECK_NEAR(decisions.value, c.optimum, c.tolerance + c.slack);
    };
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        Case c = random_case(seed);
        check_variant(c, seed, check);
    }
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(5, 5, seed, seed % 2 == 1), seed);
        check_variant(c, seed, check);
    }
    CHECK(unfinished > 50);
}

TEST("the proof's records bound what their groups earn at best") {
    std::size_t rows = 0;
    const auto check = [&](Case& c, const GroupSearchOptions& options) {
        const auto search = c.search(options);
        for (const double seconds : {0.0, 2e-5, 10.0}) {
            search->run(work_of(seconds), c.tolerance, c.monitor);
            const SearchProof proof = search->proof();
            for (const SearchProof::Rows& group : proof.groups) {
                groups::Exact exact(c.model, group.agents);
                CHECK(group.layer.size() == group.upper.size());
                CHECK(group.where.size() == group.layer.size() * group.agents.size());
                for (std::size_t r = 0; r < group.layer.size(); ++r) {
                    const auto where = std::span(group.where)
                                           .subspan(r * group.agents.size(), group.agents.size());
                    CHECK(group.upper[r] + c.relaxation.error() >=
                          exact.value(group.layer[r], where) - c.slack);
                    ++rows;
                }
            }
            for (const auto& agents : proof.solved) CHECK(!agents.empty());
        }
    };
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
        const testing::Context context("seed", seed);
        Case c = random_case(seed);
        check_variant(c, seed, check);
    }
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(5, 4, seed), seed);
        check(c, kNoTables);
    }
    CHECK(rows > 300);
}

TEST("with little memory it forgets and goes on, or is full; bounds hold") {
    int full = 0;
    int closed = 0;
    int again = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(6, 5, seed), seed);
        const double tables = RelaxationBound::bytes(c.relaxation, c.model);
        for (const bool small : {false, true}) {
            for (double bytes = tables; bytes < 64 * tables; bytes *= 1.5) {
                const testing::Context room("bytes", bytes);
                std::optional<GroupSearch> search;
                try {
                    search.emplace(c.model, c.relaxation, c.given,
                                   GroupSearchOptions{.most_bytes = bytes, .tables = small},
                                   c.monitor);
                } catch (const LimitReached&) {
                    continue;  // not even for the bounds at the start
                }
                bool found = false;
                const std::uint64_t before = search->records();
                for (int slice = 0; slice < 40 && !found && !search->full(); ++slice) {
                    found = search->run(work_of(slice < 3 ? 1e-4 : 1e-2), c.tolerance, c.monitor);
                    c.check_bounds(*search);
                }
                // More records were made than there was ever room for.
                if (static_cast<double>(search->records() - before) * 100 > bytes) ++again;
                if (search->full()) ++full;
                if (found) ++closed;
                const GroupDecisions decisions = search->decisions(100'000, 0.0, c.monitor);
                if (decisions.sound) {
                    CHECK(decisions.value <= c.optimum + c.slack);
                    CHECK(groups::worth(c.model, search->couplings(), decisions, search->usual(),
                                        true) >= decisions.value - c.slack);
                }
                c.check_bounds(*search);
            }
        }
    }
    CHECK(full + again > 5);
    CHECK(closed > 5);
    CHECK(again > 0);
}

TEST("what is reserved is given back") {
    Monitor monitor(Monitor::kNoLimit, 1e7);
    const CompiledModel model = teams::ring(5, 4, 1);
    const Relaxation relaxation(model, {}, monitor);
    const double before = monitor.reserved();
    std::mt19937_64 random(1);
    const std::vector<LocalPolicy> given{groups::random_policy(model, random)};
    {
        const GroupSearch search(model, relaxation, given, {.most_bytes = 5e6}, monitor);
        CHECK(monitor.reserved() >= before + 5e6);
        CHECK_THROWS(LimitReached,
                     GroupSearch(model, relaxation, given, {.most_bytes = 6e6}, monitor));
    }
    CHECK(monitor.reserved() == before);
    CHECK_THROWS(LimitReached, GroupSearch(model, relaxation, given, {.most_bytes = 100}, monitor));
    CHECK(monitor.reserved() == before);
}

TEST("work goes where weight times gap is largest, those at work counted") {
    const LargestContribution order;
    using Branch = SearchOrder::Branch;
    const std::vector<Branch> branches{{0.5, 1, 0}, {0.25, 4, 0}, {0.25, 3, 0}};
    const auto first = order.choose({2.25, 0.01, 0.2, branches});
    CHECK(first.branch == 1);
    CHECK(first.tolerance < 4.0);
    CHECK(first.drop > 0.0);
    const std::vector<Branch> busy{{0.5, 1, 0}, {0.25, 4, 3}, {0.25, 3, 0}};
    CHECK(order.choose({2.25, 0.01, 0.2, busy}).branch == 2);
    const std::vector<Branch> closed{{0.5, 0, 0}, {0.5, 1, 0}};
    CHECK(order.choose({0.5, 0.01, 0.2, closed}).branch == 1);
}

TEST("decisions are as good as the lower bound also where large groups were solved") {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(8, 7, seed), seed, 4);
        const auto search = c.search({});
        bool found = false;
        for (double seconds = 1e-3; !found; seconds *= 1.5) {
            found = search->run(work_of(seconds), c.tolerance, c.monitor);
            c.check_bounds(*search);
            const GroupDecisions decisions = search->decisions(1'000'000, 0.0, c.monitor);
            CHECK(decisions.sound);
            CHECK(decisions.value >= search->lower() - c.slack);
            CHECK(decisions.value <= c.optimum + c.slack);
        }
    }
}

TEST("threads find the same optimum") {
    const auto check = [](Case& c) {
        for (const unsigned threads : {1U, 2U, 4U}) {
            const testing::Context number("threads", threads);
            for (const double seconds : {10.0, 1e-4, -10.0, -1e-4}) {
                const bool deterministic = seconds > 0;
                const auto search = c.search({.threads = threads,
                                              .deterministic = deterministic,
                                              .actions_per_line = threads,
                                              .tables = false});
                bool found = false;
                while (!found) {  // in any number of slices
                    found = search->run(work_of(std::abs(seconds)), c.tolerance, c.monitor);
                    c.check_bounds(*search);
                }
                c.check_closed(*search);
                const GroupDecisions decisions = search->decisions(100'000, 0.0, c.monitor);
                CHECK(decisions.sound);
                CHECK_NEAR(decisions.value, c.optimum, c.tolerance + c.slack);
            }
        }
    };
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const testing::Context context("seed", seed);
        Case c = random_case(seed);
        check(c);
    }
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(6, 5, seed), seed);
        check(c);
    }
}

TEST("when a limit of the caller strikes, bounds hold and there is no policy") {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(7, 5, seed), seed);
        for (const unsigned threads : {1U, 2U}) {
            for (const std::uint64_t looks : {0U, 1U, 3U, 10U, 30U}) {
                const auto search =
                    c.search({.threads = threads, .deterministic = threads == 1, .tables = false});
                Monitor over = clocks::striking_after(looks);
                search->run(work_of(10), c.tolerance, over);
                c.check_bounds(*search);
                Monitor late(0.0);
                late.tick(1ULL << 40U);
                CHECK(!search->decisions(100'000, 0.0, late).sound);
                const GroupDecisions decisions = search->decisions(100'000, 0.0, c.monitor);
                CHECK(decisions.sound);
                CHECK(decisions.value >= search->lower() - c.slack);
                CHECK(decisions.value <= c.optimum + c.slack);
            }
        }
    }
}

TEST("after a limit of the caller, another call goes on to the optimum") {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(7, 5, seed, seed % 2 == 1), seed);
        const auto search = c.search(kNoTables);
        for (const std::uint64_t looks : {0U, 1U, 3U, 10U, 30U}) {
            Monitor over = clocks::striking_after(looks);
            search->run(work_of(10), c.tolerance, over);
            c.check_bounds(*search);
        }
        CHECK(search->run(work_of(20), c.tolerance, c.monitor));
        c.check_closed(*search);
    }
}

TEST("decisions that leave some to the default are worth what they say at least") {
    int left = 0;
    const auto check = [&](Case& c, const GroupSearchOptions& options) {
        const auto search = c.search(options);
        for (const double seconds : {0.0, 1e-4, 10.0}) {
            search->run(work_of(seconds), c.tolerance, c.monitor);
            for (const std::size_t most : {1U, 2U, 5U}) {
                const testing::Context states("most states", most);
                const GroupDecisions decisions = search->decisions(most, 0.0, c.monitor);
                CHECK(decisions.sound);
                if (!decisions.whole) ++left;
                const double value = groups::worth(c.model, search->couplings(), decisions,
                                                   search->usual(), options.split);
                CHECK(value >= decisions.value - c.slack);
                CHECK(value <= c.optimum + c.slack);
            }
        }
    };
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const testing::Context context("seed", seed);
        Case c = random_case(seed);
        check_variant(c, seed, check);
    }
    CHECK(left > 50);
}

TEST("running out of room is no exception") {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(6, 5, seed, seed % 2 == 1), seed);
        const double tables = RelaxationBound::bytes(c.relaxation, c.model);
        for (double bytes = tables; bytes < 64 * tables; bytes *= 1.2) {
            const testing::Context room("bytes", bytes);
            std::optional<GroupSearch> search;
            try {
                search.emplace(c.model, c.relaxation, c.given,
                               GroupSearchOptions{.most_bytes = bytes, .tables = false}, c.monitor);
            } catch (const LimitReached&) {
                continue;  // not even for the bounds at the start
            }
            for (int k = 0; k < 5; ++k) {
                search->run(work_of(0.1), c.tolerance, c.monitor);
                c.check_bounds(*search);
            }
        }
    }
}

TEST("a search does the same on any number of threads, slice by slice") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const testing::Context context("ring", seed);
        Case c(teams::ring(7, 5, seed, seed % 2 == 1), seed);
        struct Slice {
            double lower;
            double upper;
            std::uint64_t work;
            std::uint64_t records;
            bool operator==(const Slice&) const = default;
        };
        std::vector<std::vector<Slice>> runs;
        for (const unsigned threads : {1U, 2U, 3U, 4U, 1U}) {
            const auto search = c.search({.threads = threads,
                                          .actions_per_line = 1 + 10 * (seed % 3),
                                          .most_lines = 1 + 5 * (seed % 4),
                                          .tables = seed % 2 == 0});
            auto& slices = runs.emplace_back();
            for (bool found = false; !found && slices.size() < 200;) {
                const std::uint64_t before = c.monitor.work();
                found = search->run(work_of(1e-4), c.tolerance, c.monitor);
                slices.push_back({search->lower(), search->upper(), c.monitor.work() - before,
                                  search->records()});
            }
            CHECK(slices == runs.front());
        }
    }
}

TEST("wherever the clock strikes, bounds hold") {
    Case c(teams::ring(6, 5, 1), 1);
    for (const unsigned threads : {1U, 2U}) {
        for (std::uint64_t k = 0; k < 80; ++k) {
            const auto search = c.search({.threads = threads,
                                          .deterministic = k % 2 == 0,
                                          .actions_per_line = 1,
                                          .tables = false});
            Monitor over = clocks::striking_after(k % 40);
            search->run(work_of(10), c.tolerance, over);
            c.check_bounds(*search);
        }
    }
}

}  // namespace
}  // namespace coreplan
