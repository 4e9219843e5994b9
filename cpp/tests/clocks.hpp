// Clocks that move on when they are looked at, not by themselves: what happens then does not depend
// on how fast or how busy the machine is.
#pragma once

#include <atomic>
#include <memory>

#include "support/monitor.hpp"

namespace coreplan::clocks {

// Every look takes a certain time. Copies are the same clock.
inline Monitor::Clock ticking(double seconds = 1) {
    const auto looks = std::make_shared<std::atomic<std::uint64_t>>(0);
    return [looks, seconds] { return seconds * static_cast<double>((*looks)++); };
}

// Its watcher is asked at every look.
inline Monitor watched(Monitor::Watcher watcher) {
    return Monitor(Monitor::kNoLimit, Monitor::kNoLimit, std::move(watcher), ticking());
}

// The time limit strikes after so many looks.
inline Monitor striking_after(std::uint64_t looks, double memory_limit = Monitor::kNoLimit) {
    return Monitor(static_cast<double>(looks) + 0.5, memory_limit, {}, ticking());
}

}  // namespace coreplan::clocks
