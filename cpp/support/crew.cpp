#include "support/crew.hpp"

#include <chrono>
#include <new>
#include <system_error>
#include <utility>

#include "support/process_memory.hpp"
#include "support/signals.hpp"

namespace coreplan {

namespace {

constexpr std::chrono::milliseconds kNap{20};

}  // namespace

Crew::Crew(unsigned threads, Monitor& monitor) : monitor_(monitor), careful_(shares_one_heap()) {
    std::vector<RoomForThread> rooms;
    try {
        threads_.reserve(threads);
        for (unsigned t = 1; t < threads; ++t) {
            helpers_.push_back(std::make_unique<Helper>(Helper{monitor.helper(
                [this](const Progress&) { return stopped_ ? Stop::interrupted : Stop::none; })}));
        }
        // Stacks come out of the same memory as what the runtime needs for threads.
        for (unsigned t = 1; careful_ && t < threads; ++t) rooms.emplace_back();
        const SignalsHeldBack held_back;
        for (unsigned t = 1; t < threads; ++t) threads_.emplace_back([this, t] { help(t); });
    } catch (const std::system_error&) {
        // The system has no more threads, or no memory for them: fewer do it, too.
    } catch (const std::bad_alloc&) {
    }
    if (!careful_) return;
    std::unique_lock lock(guard_);
    rooms.clear();
    made_ = true;
    begun_.notify_all();
    begun_.wait(lock, [this] { return prepared_ == threads_.size(); });
}

// Where memory can run out at any request, nobody takes any before all threads are prepared.
void Crew::prepare(std::unique_lock<std::mutex>& lock) {
    begun_.wait(lock, [this] { return made_; });
    prepare_thread();
    ++prepared_;
    begun_.notify_all();
    begun_.wait(lock, [this] { return prepared_ == threads_.size(); });
}

Crew::~Crew() {
    {
        const std::scoped_lock lock(guard_);
        quits_ = true;
    }
    begun_.notify_all();
}

// Does jobs as long as there are any.
void Crew::work(unsigned worker, Monitor& monitor, std::unique_lock<std::mutex>& lock) {
    while (next_ < count_) {
        const std::size_t mine = next_++;
        const Job& job = *job_;
        lock.unlock();
        std::exception_ptr thrown;
        try {
            job(mine, worker, monitor);
        } catch (...) {
            thrown = std::current_exception();
        }
        lock.lock();
        if (thrown && !failure_) failure_ = thrown;
        if (--left_ == 0) finished_.notify_one();
    }
}

void Crew::help(unsigned worker) {
    std::unique_lock lock(guard_);
    if (careful_) prepare(lock);
    for (;;) {
        begun_.wait(lock, [this] { return quits_ || next_ < count_; });
        if (quits_) return;
        work(worker, helpers_[worker - 1]->monitor, lock);
    }
}

void Crew::run(std::size_t count, const Job& job) {
    std::unique_lock lock(guard_);
    job_ = &job;
    next_ = 0;
    count_ = left_ = count;
    failure_ = nullptr;
    if (count > 1 && !threads_.empty()) begun_.notify_all();
    work(0, monitor_, lock);
    while (!finished_.wait_for(lock, kNap, [this] { return left_ == 0; })) {
        lock.unlock();
        std::exception_ptr thrown;
        try {
            if (monitor_.look()) stopped_ = true;
        } catch (...) {
            thrown = std::current_exception();
            stopped_ = true;
        }
        lock.lock();
        if (thrown && !failure_) failure_ = thrown;
    }
    job_ = nullptr;
    bool struck = false;
    for (const auto& helper : helpers_) {
        monitor_.add_work(helper->monitor.work() - helper->counted);
        helper->counted = helper->monitor.work();
        struck = struck || helper->monitor.stop() != Stop::none;
        if (helper->monitor.stop() == Stop::memory_limit) monitor_.halt(Stop::memory_limit);
        // Its clock may be a little ahead.
        if (helper->monitor.stop() == Stop::time_limit) monitor_.halt(Stop::time_limit);
    }
    if (failure_) std::rethrow_exception(failure_);
    if (struck) monitor_.look();
}

void free_aside(std::shared_ptr<void> rest) {
    try {
        std::thread([rest = std::move(rest)]() mutable { rest.reset(); }).detach();
    } catch (const std::system_error&) {
        // It went with what the thread should have done.
    } catch (const std::bad_alloc&) {
    }
}

}  // namespace coreplan
