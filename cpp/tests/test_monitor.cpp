#include "support/monitor.hpp"

#include <string>

#include "check.hpp"
#include "clocks.hpp"
#include "support/process_memory.hpp"
#include "support/reservation.hpp"

namespace coreplan {
namespace {

// Works until the monitor says stop, or far too long.
bool stops(Monitor& monitor) {
    for (int k = 0; k < 100'000; ++k) {
        if (monitor.tick(10'000)) return true;
    }
    return false;
}

// 64 MB that are really taken.
class Memory {
public:
    Memory() : bytes_(new volatile char[kSize]) {
        for (std::size_t k = 0; k < kSize; k += 1024) bytes_[k] = 1;
    }
    ~Memory() { delete[] bytes_; }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

private:
    static constexpr std::size_t kSize = 64'000'000;
    volatile char* bytes_;
};

TEST("a monitor without limits never stops the work") {
    Monitor monitor;
    bool stopped = false;
    for (int k = 0; k < 1'000'000; ++k) stopped = stopped || monitor.tick(100);
    CHECK(!stopped);
    CHECK(monitor.stop() == Stop::none);
    CHECK(monitor.fits(1e300));
}

TEST("work is counted, and looking at the clock is no work") {
    Monitor monitor;
    CHECK(monitor.work() == 0);
    monitor.tick(7);
    monitor.tick_or_throw(5);
    monitor.look();
    monitor.look_or_throw();
    CHECK(monitor.work() == 12);
    monitor.add_work(30);
    CHECK(monitor.work() == 42);
    CHECK(monitor.work_after(8) == 50);
    CHECK(monitor.work_after(Monitor::kNoEnd) == Monitor::kNoEnd);
    CHECK(monitor.work_until(50) == 8);
    CHECK(monitor.work_until(41) == 0);
    CHECK(monitor.helper({}).work() == 0);
}

TEST("work that a time limit stopped may go on after a later one") {
    Monitor monitor(0);
    CHECK(monitor.look());
    monitor.set_time_limit(1e-9);
    CHECK(monitor.tick());
    monitor.set_time_limit(1000);
    CHECK(!monitor.tick());
    CHECK(monitor.stop() == Stop::none);
    monitor.halt(Stop::interrupted);
    monitor.set_time_limit(2000);
    CHECK(monitor.tick());
    CHECK(monitor.stop() == Stop::interrupted);
}

TEST("a time limit of nothing strikes at the first look") {
    Monitor monitor(0);
    CHECK(monitor.tick());
    CHECK(monitor.stop() == Stop::time_limit);
}

TEST("a time limit strikes, and not before its time") {
    double now = 1000;
    Monitor monitor(0.03, Monitor::kNoLimit, {}, [&] { return now; });
    for (const double seconds : {0.0, 0.01, 0.029}) {
        now = 1000 + seconds;
        CHECK(!monitor.look());
        CHECK_NEAR(monitor.seconds(), seconds, 1e-9);
        CHECK_NEAR(monitor.seconds_left(), 0.03 - seconds, 1e-9);
    }
    now = 1000.031;
    CHECK(monitor.look());
    CHECK(monitor.stop() == Stop::time_limit);
    CHECK_NEAR(monitor.progress.seconds, 0.031, 1e-9);
    CHECK(stops(monitor));
}

TEST("the clock of the machine moves on and never goes back") {
    Monitor monitor(1e-3);
    double before = monitor.seconds();
    for (int k = 0; k < 1000; ++k) {
        const double now = monitor.seconds();
        CHECK(now >= before);
        before = now;
    }
    while (!monitor.tick()) {
    }
    CHECK(monitor.stop() == Stop::time_limit);
    CHECK(monitor.seconds() >= 1e-3);
}

TEST("a helper goes by the same clock") {
    double now = 0;
    const Monitor monitor(10, Monitor::kNoLimit, {}, [&] { return now; });
    now = 4;
    Monitor helper = monitor.helper({});
    CHECK(helper.seconds_left() == 6.0);
    now = 9;
    CHECK(!helper.look());
    now = 10;
    CHECK(helper.look());
    CHECK(helper.stop() == Stop::time_limit);
}

TEST("the clock is looked at after little work and not at every step") {
    int looks = 0;
    Monitor monitor(Monitor::kNoLimit, Monitor::kNoLimit, {}, [&] { return ++looks; });
    monitor.tick();
    const int at_first = looks;
    for (int k = 0; k < 1000; ++k) monitor.tick();
    CHECK(looks == at_first);
    for (int k = 0; k < 1000; ++k) monitor.tick(1000);
    CHECK(looks > at_first + 10);
    CHECK(looks < at_first + 100);
}

TEST("where stopping means no answer, a limit is an exception that says which") {
    Monitor late(0);
    const auto timed = testing::caught<LimitReached>([&] { late.tick_or_throw(); });
    CHECK(timed.stop == Stop::time_limit);

    Monitor watched = clocks::watched([](const Progress&) { return Stop::interrupted; });
    const auto interrupted = testing::caught<LimitReached>([&] { watched.tick_or_throw(); });
    CHECK(interrupted.stop == Stop::interrupted);
}

TEST("the watcher is asked only once in a while, sees the progress and can stop the work") {
    int asked = 0;
    double seen = 0;
    double last = 0;
    const auto watcher = [&](const Progress& progress) {
        seen = progress.lower;
        CHECK(progress.seconds >= last + 0.05);
        CHECK(progress.seconds <= last + 0.06);
        last = progress.seconds;
        return ++asked < 3 ? Stop::none : Stop::interrupted;
    };
    Monitor monitor(Monitor::kNoLimit, Monitor::kNoLimit, watcher, clocks::ticking(1e-3));
    monitor.progress.lower = 7;
    CHECK(stops(monitor));
    CHECK(asked == 3);
    CHECK(seen == 7.0);
    CHECK(monitor.stop() == Stop::interrupted);
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
    const auto refused =
        testing::caught<LimitReached>([&] { monitor.reserve(401, "another table"); });
    CHECK(refused.stop == Stop::memory_limit);
    CHECK(std::string(refused.what()).find("another table") == 0);
    CHECK(monitor.reserved() == 600.0);
    monitor.release(600);
    monitor.reserve(1000, "a larger table");
    CHECK(!monitor.fits(1));
    CHECK(monitor.memory_limit() == 1000.0);
}

TEST("a process that grows beyond what was counted has to stop") {
    if (resident_bytes() == 0) return;  // the system does not say
    return_freed_memory();
    Monitor monitor(Monitor::kNoLimit, 4e6, {}, clocks::ticking());
    CHECK(monitor.used() == 0.0);
    const Memory uncounted;
    CHECK(stops(monitor));
    CHECK(monitor.stop() == Stop::memory_limit);
    CHECK(monitor.used() > 4e6);
}

TEST("what is counted and taken is not counted twice") {
    if (resident_bytes() == 0) return;
    return_freed_memory();
    Monitor monitor(Monitor::kNoLimit, 100e6);
    monitor.reserve(64e6, "a table");
    const Memory counted;
    monitor.reserve(20e6, "another one");
    CHECK(!monitor.tick(1U << 20U));
    CHECK(monitor.used() < 100e6);
}

TEST("what has grown uncounted is not there for others, until it is gone") {
    if (resident_bytes() == 0) return;
    return_freed_memory();
    Monitor monitor(Monitor::kNoLimit, 100e6);
    {
        const Memory uncounted;
        const auto refused =
            testing::caught<LimitReached>([&] { monitor.reserve(80e6, "a large table"); });
        CHECK(refused.stop == Stop::memory_limit);
    }
    monitor.reserve(80e6, "a large table");
    CHECK(monitor.reserved() == 80e6);
}

TEST("a helper sees the same growth, and what it takes is not counted again") {
    if (resident_bytes() == 0) return;
    return_freed_memory();
    const Monitor monitor(Monitor::kNoLimit, 4e6, {}, clocks::ticking());
    Monitor helper = monitor.helper([](const Progress&) { return Stop::none; });
    CHECK(helper.fits(1e12));
    const Memory uncounted;
    CHECK(stops(helper));
    CHECK(helper.stop() == Stop::memory_limit);
}

TEST("the first to halt the work gives the reason") {
    Monitor monitor;
    CHECK(!monitor.tick());
    monitor.halt(Stop::memory_limit);
    CHECK(monitor.tick());
    CHECK(monitor.stop() == Stop::memory_limit);
    monitor.halt(Stop::interrupted);
    CHECK(monitor.stop() == Stop::memory_limit);
}

TEST("a reservation ends with its scope, also if something is thrown") {
    Monitor monitor(Monitor::kNoLimit, 1000);
    {
        Reservation memory(monitor);
        memory.take(300, "one");
        CHECK(memory.try_take(300));
        CHECK(!memory.try_take(500));
        CHECK(memory.bytes() == 600.0);
        memory.set(900, "more");
        CHECK(monitor.reserved() == 900.0);
        CHECK_THROWS(LimitReached, memory.set(1100, "too much"));
        CHECK(monitor.reserved() == 900.0);
        memory.give_back(400);
        memory.keep(100);
    }
    CHECK(monitor.reserved() == 100.0);
    {
        Reservation memory(monitor);
        memory.adopt(100);
    }
    CHECK(monitor.reserved() == 0.0);
}

}  // namespace
}  // namespace coreplan
