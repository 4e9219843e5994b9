// Memory that runs out anywhere: nothing is lost that was there before.
#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "check.hpp"
#include "engine/relaxation.hpp"
#include "groups.hpp"
#include "policies/improve.hpp"
#include "problems.hpp"
#include "search/group_search.hpp"
#include "teams.hpp"

namespace {

constexpr std::int64_t kNever = std::int64_t{1} << 62U;
std::atomic<std::int64_t> requests_left{kNever};  // for memory, before one fails

void* take(std::size_t bytes) {
    if (requests_left.fetch_sub(1, std::memory_order_relaxed) == 0) throw std::bad_alloc();
    void* memory = std::malloc(bytes > 0 ? bytes : 1);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

}  // namespace

// For all tests; without a number of requests they never fail.
void* operator new(std::size_t bytes) { return take(bytes); }
void* operator new[](std::size_t bytes) { return take(bytes); }
// The library sorts with these; all of one family, or sanitizers complain.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace coreplan {
namespace {

using namespace problems;

constexpr double kNone = -std::numeric_limits<double>::infinity();

// Whether the work gets through if this request for memory fails.
template <class Work>
bool gets_through(std::int64_t failing, const Work& work) {
    bool through = true;
    requests_left = failing;
    try {
        work();
    } catch (const std::bad_alloc&) {
        through = false;
    } catch (...) {
        requests_left = kNever;
        throw;
    }
    requests_left = kNever;
    return through;
}

// Lets one request after the other fail, ever further apart, until the work gets through.
template <class Check>
void fail_everywhere(const Check& check) {
    std::int64_t failures = 0;
    for (std::int64_t failing = 0; !check(failing); failing += 1 + failing / 8) ++failures;
    CHECK(failures > 3);
}

double optimum_of(const CompiledModel& model) {
    Monitor monitor;
    return solve_team(model, model.everyone(), {.policy = false}, monitor).value;
}

TEST("a relaxation that runs out of memory keeps its bound, and gives back what it took") {
    for (const std::uint64_t seed : {3U, 11U, 25U}) {
        const testing::Context context("seed", seed);
        const CompiledModel model = teams::ring(5, 6, seed);
        const double optimum = optimum_of(model);
        fail_everywhere([&](std::int64_t failing) {
            const testing::Context request("request", failing);
            Monitor monitor(Monitor::kNoLimit, 1e9);
            bool through = false;
            {
                Relaxation relaxation(model, {}, monitor);
                const double before = relaxation.upper();
                through = gets_through(failing, [&] {
                    for (int k = 0; k < 3; ++k) relaxation.step(kNone, monitor);
                    relaxation.grow(1e18, 4, monitor);
                    relaxation.step(kNone, monitor);
                });
                CHECK(relaxation.upper() <= before);
                CHECK(relaxation.upper() >= optimum - relative(optimum, 1e-9));
                for (int k = 0; k < 3; ++k) relaxation.step(kNone, monitor);
                relaxation.grow(1e18, 4, monitor);
                relaxation.step(kNone, monitor);
                CHECK(relaxation.upper() >= optimum - relative(optimum, 1e-9));
            }
            CHECK(monitor.reserved() == 0.0);
            return through;
        });
    }
}

TEST("a relaxation that cannot be made for lack of memory gives back what it took") {
    const CompiledModel model = teams::ring(5, 6, 1);
    fail_everywhere([&](std::int64_t failing) {
        Monitor monitor(Monitor::kNoLimit, 1e9);
        const bool through =
            gets_through(failing, [&] { const Relaxation relaxation(model, {}, monitor); });
        CHECK(monitor.reserved() == 0.0);
        return through;
    });
}

TEST("policies that were found before memory ran out are worth what is said") {
    for (const std::size_t joint : {10U, 1U}) {
        const testing::Context context("joint", joint);
        const CompiledModel model = teams::ring(5, 6, 7);
        PolicySearchOptions options;
        options.joint_agents = joint;
        fail_everywhere([&](std::int64_t failing) {
            const testing::Context request("request", failing);
            Monitor monitor(Monitor::kNoLimit, 1e9);
            bool through = false;
            {
                PolicySearch search(model, options, monitor);
                const double before = search.value();
                through = gets_through(failing, [&] { search.improve(Monitor::kNoEnd, 60); });
                CHECK(search.value() >= before);
                const double worth = teams::worth(model, search.policy());
                CHECK(worth >= search.value() - relative(worth));
                search.improve(Monitor::kNoEnd, 80);
                CHECK(teams::worth(model, search.policy()) >= search.value() - relative(worth));
            }
            CHECK(monitor.reserved() < 1.0);
            return through;
        });
    }
}

TEST("a search that runs out of memory keeps valid bounds") {
    const CompiledModel model = teams::ring(5, 6, 9);
    const double optimum = optimum_of(model);
    std::mt19937_64 random(1);
    const std::vector<LocalPolicy> given{groups::random_policy(model, random)};
    Monitor own;
    const Relaxation relaxation(model, {}, own);
    const double slack = relative(optimum, 1e-9);
    fail_everywhere([&](std::int64_t failing) {
        const testing::Context request("request", failing);
        Monitor monitor(Monitor::kNoLimit, 1e9);
        bool through = false;
        {
            GroupSearch search(model, relaxation, given, {.most_bytes = 5e8, .tables = false},
                               monitor);
            through = gets_through(failing, [&] {
                for (int k = 0; k < 10; ++k) search.run(1'000'000, 1e-6, monitor);
            });
            CHECK(search.lower() <= optimum + slack);
            CHECK(search.upper() >= optimum - slack);
            if (!through) CHECK(search.full());
            search.run(1'000'000, 1e-6, monitor);
            CHECK(search.lower() <= optimum + slack);
            CHECK(search.upper() >= optimum - slack);
        }
        CHECK(monitor.reserved() < 1.0);
        return through;
    });
}

}  // namespace
}  // namespace coreplan
