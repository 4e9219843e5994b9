// Threads that stay for many short rounds of work. What a job gives must not depend on who does it
// or when: then neither do results.
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

    // The caller's thread is the first worker. The monitor has to outlive it.
    Crew(unsigned threads, Monitor& monitor);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    // Does jobs 0 to count - 1. The work of all is counted when it returns. What a job throws is
    // thrown here, after all have stopped.
    void run(std::size_t count, const Job& job);

private:
    struct Helper {
        Monitor monitor;
        std::uint64_t counted = 0;  // of its work
    };

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

    std::atomic<bool> stopped_{false};
    std::vector<std::unique_ptr<Helper>> helpers_;
    std::vector<std::jthread> threads_;
};

}  // namespace coreplan
