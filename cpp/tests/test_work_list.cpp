#include "support/work_list.hpp"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "clocks.hpp"
#include "support/process_memory.hpp"

namespace coreplan {
namespace {

// Works until there is a reason to stop.
void work_on(Monitor& monitor) {
    while (!monitor.tick(1U << 16U)) std::this_thread::yield();
}

TEST("every piece is done once, by any number of threads") {
    for (unsigned threads : {1U, 2U, 4U}) {
        std::vector<std::atomic<int>> done(100);
        Monitor monitor;
        CHECK(WorkList(threads).run(
            done.size(), [&](std::size_t piece, unsigned, Monitor&) { ++done[piece]; }, monitor));
        for (const auto& count : done) CHECK(count == 1);
    }
}

TEST("the work of all pieces is counted, the same for any number of threads") {
    for (unsigned threads : {1U, 2U, 4U}) {
        Monitor monitor;
        monitor.tick(1);
        CHECK(WorkList(threads).run(
            100, [](std::size_t piece, unsigned, Monitor& own) { own.tick(piece); }, monitor));
        CHECK(monitor.work() == 1 + 99 * 50);
    }
}

TEST("what a piece throws comes out, after all have stopped") {
    for (unsigned threads : {1U, 3U}) {
        std::atomic<int> running{0};
        Monitor monitor;
        CHECK_THROWS(std::runtime_error, WorkList(threads).run(
                                             50,
                                             [&](std::size_t piece, unsigned, Monitor&) {
                                                 ++running;
                                                 if (piece == 5) {
                                                     --running;
                                                     throw std::runtime_error("five");
                                                 }
                                                 --running;
                                             },
                                             monitor));
        CHECK(running == 0);
    }
}

TEST("a limit stops the pieces that look at their monitors") {
    Monitor monitor = clocks::striking_after(100);
    const bool finished =
        WorkList(2).run(4, [](std::size_t, unsigned, Monitor& own) { work_on(own); }, monitor);
    CHECK(!finished);
    CHECK(monitor.stop() == Stop::time_limit);
}

TEST("whoever watches can stop pieces on other threads") {
    Monitor monitor = clocks::watched([](const Progress&) { return Stop::interrupted; });
    const bool finished = WorkList(2).run(
        2,
        [](std::size_t piece, unsigned, Monitor& own) {
            if (piece == 0) return;  // the other one needs the watcher
            work_on(own);
        },
        monitor);
    CHECK(!finished);
    CHECK(monitor.stop() == Stop::interrupted);
}

TEST("a process that grows too large on a helper's thread stops all") {
    if (resident_bytes() == 0) return;  // the system does not say
    return_freed_memory();
    Monitor monitor(Monitor::kNoLimit, 4e6, {}, clocks::ticking());
    std::vector<std::vector<char>> taken(2);
    const bool finished = WorkList(2).run(
        2,
        [&](std::size_t piece, unsigned, Monitor& own) {
            taken[piece].assign(64'000'000, 1);
            work_on(own);
        },
        monitor);
    CHECK(!finished);
    CHECK(monitor.stop() == Stop::memory_limit);
}

}  // namespace
}  // namespace coreplan
