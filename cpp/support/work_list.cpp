#include "support/work_list.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "support/process_memory.hpp"

namespace coreplan {

namespace {

constexpr std::chrono::milliseconds kNap{20};

}  // namespace

bool WorkList::run(std::size_t count, const Piece& piece, Monitor& monitor) const {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stopped{false};
    std::atomic<bool> outgrown{false};
    // Where memory can run out at any request, nobody takes any before all threads are prepared.
    const bool careful = shares_one_heap();
    std::vector<RoomForThread> rooms;
    std::condition_variable begin;
    bool made = false;
    std::size_t prepared = 0;
    std::size_t finished_helpers = 0;
    std::uint64_t helped = 0;  // work of the helpers
    std::condition_variable finished;
    std::mutex guard;
    std::exception_ptr failure;
    const auto work = [&](unsigned worker, Monitor& own) {
        try {
            while (!stopped) {
                const std::size_t mine = next.fetch_add(1);
                if (mine >= count) break;
                piece(mine, worker, own);
                if (own.stop() == Stop::memory_limit) outgrown = true;
                if (own.stop() != Stop::none) stopped = true;
            }
        } catch (...) {
            const std::scoped_lock lock(guard);
            if (!failure) failure = std::current_exception();
            stopped = true;
        }
    };
    {
        std::vector<std::jthread> helpers;
        const std::size_t wanted = std::min<std::size_t>(threads_, count);
        try {
            helpers.reserve(wanted);
            // Stacks come out of the same memory as what the runtime needs for threads.
            for (unsigned t = 1; careful && t < wanted; ++t) rooms.emplace_back();
            for (unsigned t = 1; t < wanted; ++t) {
                helpers.emplace_back([&, t] {
                    if (careful) {
                        std::unique_lock lock(guard);
                        begin.wait(lock, [&] { return made; });
                        prepare_thread();
                        ++prepared;
                        begin.notify_all();
                        begin.wait(lock, [&] { return prepared == helpers.size(); });
                    }
                    Monitor own = monitor.helper(
                        [&](const Progress&) { return stopped ? Stop::interrupted : Stop::none; });
                    work(t, own);
                    const std::scoped_lock lock(guard);
                    helped += own.work();
                    ++finished_helpers;
                    finished.notify_one();
                });
            }
        } catch (const std::system_error&) {
            // The system has no more threads, or no memory for them: fewer do it, too.
        } catch (const std::bad_alloc&) {
        }
        if (careful) {
            std::unique_lock lock(guard);
            rooms.clear();
            made = true;
            begin.notify_all();
            begin.wait(lock, [&] { return prepared == helpers.size(); });
        }
        work(0, monitor);
        // The others may still be at it: keep an eye on the clock and on who watches.
        std::unique_lock lock(guard);
        while (!finished.wait_for(lock, kNap, [&] { return finished_helpers == helpers.size(); })) {
            lock.unlock();
            std::exception_ptr thrown;
            try {
                if (!stopped && monitor.look()) stopped = true;
            } catch (...) {
                thrown = std::current_exception();
                stopped = true;
            }
            lock.lock();
            if (!failure) failure = thrown;
        }
    }
    if (failure) std::rethrow_exception(failure);
    if (outgrown) monitor.halt(Stop::memory_limit);
    if (stopped) monitor.look();
    monitor.add_work(helped);
    return !stopped;
}

}  // namespace coreplan
