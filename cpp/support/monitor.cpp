#include "support/monitor.hpp"

#include <cstdio>
#include <utility>

namespace coreplan {

namespace {

// Steps between two looks at the clock: well under a millisecond of work.
constexpr std::uint64_t kBudget = 1U << 15U;
constexpr std::chrono::milliseconds kWatchInterval{50};

std::string megabytes(double bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4g MB", bytes / 1e6);
    return text;
}

}  // namespace

Monitor::Monitor(double time_limit, double memory_limit, Watcher watcher)
    : start_(Clock::now()),
      next_watch_(start_ + kWatchInterval),
      time_limit_(time_limit),
      memory_limit_(memory_limit),
      watcher_(std::move(watcher)) {}

double Monitor::seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
}

bool Monitor::look() {
    budget_ = kBudget;
    if (stop_ != Stop::none) return true;
    const auto now = Clock::now();
    progress.seconds = std::chrono::duration<double>(now - start_).count();
    if (progress.seconds >= time_limit_) {
        stop_ = Stop::time_limit;
    } else if (watcher_ && now >= next_watch_) {
        stop_ = watcher_(progress);
        next_watch_ = Clock::now() + kWatchInterval;
    }
    return stop_ != Stop::none;
}

void Monitor::tick_or_throw(std::uint64_t work) {
    if (!tick(work)) return;
    switch (stop_) {
        case Stop::time_limit:
            throw LimitReached(stop_, "the time limit struck before there was any plan");
        case Stop::memory_limit:
            throw LimitReached(stop_, "the memory limit struck before there was any plan");
        default:
            throw LimitReached(stop_, "interrupted before there was any plan");
    }
}

void Monitor::reserve(double bytes, const std::string& what) {
    if (!fits(bytes)) {
        throw LimitReached(Stop::memory_limit, what + " would need about " + megabytes(bytes) +
                                                   "; the memory limit leaves " +
                                                   megabytes(memory_limit_ - reserved_));
    }
    reserved_ += bytes;
}

}  // namespace coreplan
