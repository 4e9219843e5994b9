#include "support/monitor.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "support/process_memory.hpp"

namespace coreplan {

namespace {

// Work between two looks at the clock: well under a millisecond.
constexpr std::uint64_t kLookEvery = 1U << 15U;
constexpr double kWatchInterval = 0.05;  // seconds
constexpr double kMeasureInterval = 0.001;
// The process may grow by that much without anybody counting it: its own affairs.
constexpr double kOwnAffairs = 4e6;
constexpr double kWorthMeasuring = 1e5;  // bytes
// A process that takes this part of its memory hands back what it has freed, in one part of the
// time in so many; one that has grown too large has to, however long it takes.
constexpr double kLarge = 0.95;
constexpr double kTrimPart = 10;

std::string megabytes(double bytes) {
    char text[64];
    std::snprintf(text, sizeof text, "%.4g MB", bytes / 1e6);
    return text;
}

}  // namespace

Monitor::Monitor(double time_limit, double memory_limit, Watcher watcher, Clock clock)
    : clock_(std::move(clock)),
      start_(clock_()),
      next_watch_(start_ + kWatchInterval),
      next_measure_(start_),
      next_trim_(start_),
      time_limit_(time_limit),
      memory_limit_(memory_limit),
      most_growth_(memory_limit),
      size_at_start_(std::isfinite(memory_limit) ? resident_bytes() : 0),
      watcher_(std::move(watcher)) {}

double Monitor::steady_seconds() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
}

Monitor Monitor::helper(Watcher watcher) const {
    Monitor own(seconds_left(), kNoLimit, std::move(watcher), clock_);
    own.most_growth_ = most_growth_;
    own.size_at_start_ = size_at_start_;
    return own;
}

void Monitor::halt(Stop why) noexcept {
    if (stop_ == Stop::none) stop_ = why;
    next_look_ = 0;
}

void Monitor::set_time_limit(double seconds) {
    time_limit_ = seconds;
    if (stop_ == Stop::time_limit && this->seconds() < seconds) stop_ = Stop::none;
    next_look_ = 0;
}

void Monitor::measure() {
    const double grown = resident_bytes() - size_at_start_ - kOwnAffairs;
    uncounted_ = std::max(0.0, grown - reserved_);
}

void Monitor::trim() {
    const double begin = clock_();
    return_freed_memory();
    const double end = clock_();
    next_trim_ = end + kTrimPart * (end - begin);
    measure();
}

// Whether the process has grown too large, also after what is free has been handed back.
bool Monitor::outgrown(double now) {
    if (!std::isfinite(most_growth_) || now < next_measure_) return false;
    next_measure_ = now + kMeasureInterval;
    measure();
    if (used() <= (now < next_trim_ ? 1 : kLarge) * most_growth_) return false;
    trim();
    return used() > most_growth_;
}

double Monitor::seconds() const { return clock_() - start_; }

bool Monitor::look() {
    next_look_ = work_ + kLookEvery;
    if (stop_ != Stop::none) return true;
    const double now = clock_();
    progress.seconds = now - start_;
    if (progress.seconds >= time_limit_) {
        stop_ = Stop::time_limit;
    } else if (outgrown(now)) {
        stop_ = Stop::memory_limit;
    } else if (watcher_ && now >= next_watch_) {
        stop_ = watcher_(progress);
        next_watch_ = clock_() + kWatchInterval;
    }
    return stop_ != Stop::none;
}

void Monitor::tick_or_throw(std::uint64_t work) {
    if (tick(work)) throw_stop();
}

void Monitor::look_or_throw() {
    if (look()) throw_stop();
}

void Monitor::throw_stop() const {
    switch (stop_) {
        case Stop::time_limit:
            throw LimitReached(stop_, "the time limit was reached before any plan was found");
        case Stop::memory_limit:
            throw LimitReached(stop_, "the memory limit was reached before any plan was found");
        default:
            throw LimitReached(stop_, "interrupted before any plan was found");
    }
}

void Monitor::reserve(double bytes, const std::string& what) {
    if (std::isfinite(memory_limit_)) {
        if (bytes >= kWorthMeasuring) measure();
        if (!fits(bytes) && uncounted_ > 0 && reserved_ + bytes <= memory_limit_) trim();
    }
    if (!fits(bytes)) {
        throw LimitReached(Stop::memory_limit,
                           what + " would need about " + megabytes(bytes) +
                               "; the memory limit leaves " +
                               megabytes(std::max(0.0, memory_limit_ - used())));
    }
    reserved_ += bytes;
}

}  // namespace coreplan
