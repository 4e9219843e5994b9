#include "support/crew.hpp"

#include <csignal>
#include <stdexcept>
#include <vector>

#include "check.hpp"
#include "clocks.hpp"

namespace coreplan {
namespace {

TEST("a crew does every job of every round once, and counts all work") {
    for (const unsigned threads : {1U, 2U, 4U}) {
        Monitor monitor;
        Crew crew(threads, monitor);
        std::uint64_t work = 0;
        for (std::size_t round = 0; round < 200; ++round) {
            std::vector<int> done(round % 7, 0);
            crew.run(done.size(), [&](std::size_t job, unsigned worker, Monitor& own) {
                ++done[job];
                own.tick(job + 1);
                if (worker >= threads) done[job] = -1;
            });
            for (std::size_t job = 0; job < done.size(); ++job) {
                CHECK(done[job] == 1);
                work += job + 1;
            }
            CHECK(monitor.work() == work);
        }
    }
}

#if defined(__unix__) || defined(__APPLE__)
TEST("only the thread that makes a crew gets the signals of the process") {
    const auto takes_interrupts = [] {
        sigset_t blocked;
        sigemptyset(&blocked);
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        return sigismember(&blocked, SIGINT) == 0;
    };
    CHECK(takes_interrupts());
    Monitor monitor;
    Crew crew(3, monitor);
    CHECK(takes_interrupts());
    for (int round = 0; round < 50; ++round) {
        std::vector<int> right(6, 0);
        crew.run(right.size(), [&](std::size_t job, unsigned worker, Monitor&) {
            right[job] = takes_interrupts() == (worker == 0) ? 1 : 0;
        });
        for (const int each : right) CHECK(each == 1);
    }
}
#endif

TEST("what a job throws comes out of the round, and the crew goes on") {
    for (const unsigned threads : {1U, 3U}) {
        Monitor monitor;
        Crew crew(threads, monitor);
        CHECK_THROWS(std::runtime_error, crew.run(20, [](std::size_t job, unsigned, Monitor&) {
            if (job == 5) throw std::runtime_error("five");
        }));
        int count = 0;
        crew.run(1, [&](std::size_t, unsigned, Monitor&) { ++count; });
        CHECK(count == 1);
    }
}

TEST("a limit that strikes in a job strikes the round") {
    for (const unsigned threads : {1U, 2U}) {
        Monitor monitor = clocks::striking_after(100);
        Crew crew(threads, monitor);
        crew.run(4, [](std::size_t, unsigned, Monitor& own) {
            while (!own.tick(1000)) {
            }
        });
        CHECK(monitor.stop() == Stop::time_limit);
    }
}

}  // namespace
}  // namespace coreplan
