// Threads: nobody else starts any. A crew stays for many short rounds of work; `WorkList` is one
// round by a crew of its own. What a job gives must not depend on who does it or when: then neither
// do results.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "support/monitor.hpp"

namespace coreplan {

class Crew {
public:
    // Does one job, as worker number `worker`; looks at the monitor it is given.
    using Job = std::function<void(std::size_t job, unsigned worker, Monitor& monitor)>;

    // The caller's thread is the first worker; where there are no more threads to be had, the crew
    // is smaller. The monitor has to outlive it.
    Crew(unsigned threads, Monitor& monitor);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // Does jobs 0 to count - 1. The work of all is counted when it returns. What a job throws is
    // thrown here, after all have stopped.
    void run(std::size_t count, const Job& job);

    // From now on the monitors of the other threads say that their jobs have to stop.
    void interrupt() noexcept { stopped_ = true; }

private:
    struct Helper {
        Monitor monitor;
        std::uint64_t counted = 0;  // of its work
    };

    void prepare(std::unique_lock<std::mutex>& lock);
    void help(unsigned worker);
    void work(unsigned worker, Monitor& monitor, std::unique_lock<std::mutex>& lock);

    Monitor& monitor_;
    std::mutex guard_;
    std::condition_variable begun_;
    std::condition_variable finished_;
    // All of these are guarded.
    const Job* job_ = nullptr;
    std::size_t count_ = 0;
    std::size_t next_ = 0;
    std::size_t left_ = 0;  // not finished
    bool quits_ = false;
    std::exception_ptr failure_;
    bool made_ = false;         // all threads are there
    std::size_t prepared_ = 0;  // threads that took what the runtime needs for them

    const bool careful_;  // memory can run out at any request
    std::atomic<bool> stopped_{false};
    std::vector<std::unique_ptr<Helper>> helpers_;
    std::vector<std::jthread> threads_;
};

// Gives something's memory back beside all other work, if nobody else has it; here and now if there
// is no thread to be had.
void free_aside(std::shared_ptr<void> rest);

}  // namespace coreplan
