#include "support/monitor.hpp"

#include <string>
#include <thread>

#include "check.hpp"

namespace coreplan {
namespace {

using namespace std::chrono_literals;

// Ticks until the monitor says stop, or far too long.
bool stops(Monitor& monitor) {
    for (int k = 0; k < 100'000'000; ++k) {
        if (monitor.tick(1000)) return true;
        if (monitor.seconds() > 5) return false;
    }
    return false;
}

TEST("a monitor without limits never stops the work") {
    Monitor monitor;
    bool stopped = false;
    for (int k = 0; k < 1'000'000; ++k) stopped = stopped || monitor.tick(100);
    CHECK(!stopped);
    CHECK(monitor.stop() == Stop::none);
    CHECK(monitor.fits(1e300));
}

TEST("a time limit of nothing strikes at the first look") {
    Monitor monitor(0);
    CHECK(monitor.tick());
    CHECK(monitor.stop() == Stop::time_limit);
}

TEST("a time limit strikes, and not before its time") {
    Monitor monitor(0.03);
    CHECK(!monitor.tick());
    CHECK(stops(monitor));
    CHECK(monitor.stop() == Stop::time_limit);
    CHECK(monitor.seconds() >= 0.03);
    CHECK(monitor.progress.seconds >= 0.03);
    CHECK(stops(monitor));
}

TEST("the clock is looked at after little work and not at every step") {
    Monitor monitor(0.001);
    CHECK(!monitor.tick());
    std::this_thread::sleep_for(2ms);
    CHECK(!monitor.tick());
    CHECK(monitor.tick(1'000'000));
}

TEST("where stopping means no answer, a limit is an exception that says which") {
    Monitor late(0);
    const auto timed = testing::caught<LimitReached>([&] { late.tick_or_throw(); });
    CHECK(timed.stop == Stop::time_limit);

    Monitor watched(Monitor::kNoLimit, Monitor::kNoLimit,
                    [](const Progress&) { return Stop::interrupted; });
    std::this_thread::sleep_for(60ms);
    const auto interrupted = testing::caught<LimitReached>([&] { watched.tick_or_throw(); });
    CHECK(interrupted.stop == Stop::interrupted);
}

TEST("the watcher is asked only once in a while, sees the progress and can stop the work") {
    int asked = 0;
    double seen = 0;
    Monitor monitor(Monitor::kNoLimit, Monitor::kNoLimit, [&](const Progress& progress) {
        seen = progress.lower;
        return ++asked < 3 ? Stop::none : Stop::interrupted;
    });
    monitor.progress.lower = 7;
    CHECK(stops(monitor));
    CHECK(asked == 3);
    CHECK(seen == 7.0);
    CHECK(monitor.stop() == Stop::interrupted);
    CHECK(monitor.seconds() >= 0.15);
    // Stopped is stopped: nobody is asked again.
    CHECK(stops(monitor));
    CHECK(asked == 3);
}

TEST("memory is refused beyond the limit, by name, and what is released can be used again") {
    Monitor monitor(Monitor::kNoLimit, 1000);
    CHECK(monitor.fits(1000));
    CHECK(!monitor.fits(1001));
    monitor.reserve(600, "a table");
    CHECK(monitor.reserved() == 600.0);
    CHECK(monitor.fits(400));
    const auto refused = testing::caught<LimitReached>([&] { monitor.reserve(401, "another table"); });
    CHECK(refused.stop == Stop::memory_limit);
    CHECK(std::string(refused.what()).find("another table") == 0);
    CHECK(monitor.reserved() == 600.0);
    monitor.release(600);
    monitor.reserve(1000, "a larger table");
    CHECK(!monitor.fits(1));
    CHECK(monitor.memory_limit() == 1000.0);
}

}  // namespace
}  // namespace coreplan
