// Limits, progress and counted work: every loop that can run long reports here.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/costs.hpp"

namespace coreplan {

enum class Stop { none, time_limit, memory_limit, interrupted };

// What is known so far, as reported to whoever watches.
struct Progress {
    double seconds = 0;
    double lower = -std::numeric_limits<double>::infinity();
    double upper = std::numeric_limits<double>::infinity();
    std::uint64_t states_expanded = 0;
    std::uint64_t actions_evaluated = 0;
};

// A limit struck where no valid answer can be given yet.
class LimitReached : public std::runtime_error {
public:
    LimitReached(Stop why, const std::string& message) : std::runtime_error(message), stop(why) {}
    Stop stop;
};

class Partners;  // support/partners.hpp

class Monitor {
public:
    // Seconds since some moment; never goes back. Threads that help ask it, too.
    using Clock = std::function<double()>;
    using Watcher = std::function<Stop(const Progress&)>;

    static constexpr double kNoLimit = std::numeric_limits<double>::infinity();
    // A budget of work that never ends.
    static constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

    // `time_limit` counts from now; `memory_limit` is in bytes; `watcher` is asked about 20 times
    // a second and may stop the work. All times are those of `clock`: tests hand in one of their
    // own, to let a limit strike at a certain look instead of a certain moment.
    explicit Monitor(double time_limit = kNoLimit, double memory_limit = kNoLimit,
                     Watcher watcher = {}, Clock clock = steady_seconds);
    // The clock of the machine.
    static double steady_seconds();

    // Counts `work` done since the last call, in units of support/costs.hpp, and looks at the
    // clock once in a while. True if the work has to stop. What is counted must not depend on the
    // clock or on the number of threads: decisions go by it.
    bool tick(std::uint64_t work = 1) {
        work_ += work;
        return work_ >= next_look_ && look();
    }
    // Looks at the clock at once; counts nothing.
    bool look();
    void look_or_throw();

    // As `tick`, for places where stopping means that there is no answer.
    void tick_or_throw(std::uint64_t work = 1);

    // Memory is counted before it is taken; and the system is asked now and then how much the
    // process has really grown, for not all can be counted. If that is too much, the work has to
    // stop. Throws unless `bytes` more fit beside what is in use. `what` names what they are for.
    void reserve(double bytes, const std::string& what);
    void release(double bytes) noexcept { reserved_ -= bytes; }
    [[nodiscard]] bool fits(double bytes) const noexcept { return used() + bytes <= memory_limit_; }
    // Bytes that are reserved, and what the process has grown by beyond them.
    [[nodiscard]] double used() const noexcept { return reserved_ + uncounted_; }

    // All work so far, in units of support/costs.hpp.
    [[nodiscard]] std::uint64_t work() const noexcept { return work_; }
    // What `work` will say after so much more.
    [[nodiscard]] std::uint64_t work_after(std::uint64_t more) const noexcept {
        return more > kNoEnd - work_ ? kNoEnd : work_ + more;
    }
    // Until `work` gets to an end; 0 if it is beyond.
    [[nodiscard]] std::uint64_t work_until(std::uint64_t end) const noexcept {
        return end > work_ ? end - work_ : 0;
    }
    // Counts what a helper did.
    void add_work(std::uint64_t work) noexcept { work_ += work; }

    // The work has to stop, from now on, whatever the limits say.
    void halt(Stop why) noexcept;
    // Another time limit, from the same beginning. Work that the one before stopped may go on if
    // this one is later.
    void set_time_limit(double seconds);
    // For a helper's thread: the same clock, and the same eye on the growth of the process. What a
    // helper takes is counted by the monitor that it helps.
    [[nodiscard]] Monitor helper(Watcher watcher) const;

    // Other processes that do the same, and share long rounds of work; none for helpers.
    void set_partners(std::shared_ptr<Partners> partners) { partners_ = std::move(partners); }
    [[nodiscard]] Partners* partners() const noexcept { return partners_.get(); }

    [[nodiscard]] double seconds() const;
    [[nodiscard]] double seconds_left() const { return time_limit_ - seconds(); }
    [[nodiscard]] Stop stop() const noexcept { return stop_; }
    [[nodiscard]] double memory_limit() const noexcept { return memory_limit_; }
    [[nodiscard]] double reserved() const noexcept { return reserved_; }

    Progress progress;

private:
    void throw_stop() const;
    void measure();
    bool outgrown(double now);
    void trim();

    Clock clock_;
    double start_;
    double next_watch_;
    double next_measure_;
    double next_trim_;
    double time_limit_;
    double memory_limit_;
    double most_growth_;  // of the process
    double size_at_start_ = 0;
    double reserved_ = 0;
    double uncounted_ = 0;  // by which the process has grown beyond what is reserved
    Watcher watcher_;
    std::shared_ptr<Partners> partners_;
    Stop stop_ = Stop::none;
    std::uint64_t work_ = 0;
    std::uint64_t next_look_ = 0;  // the count of work at which to look at the clock
};

}  // namespace coreplan
