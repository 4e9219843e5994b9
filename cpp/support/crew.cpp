#include "support/crew.hpp"

#include <chrono>
#include <new>
#include <system_error>

#include "support/process_memory.hpp"

namespace coreplan {

namespace {

constexpr std::chrono::milliseconds kNap{20};

}  // namespace

Crew::Crew(unsigned threads, Monitor& monitor) : monitor_(monitor) {
    // Where memory can run out at any request, threads are not worth the trouble.
    if (shares_one_heap()) return;
    try {
        for (unsigned t = 1; t < threads; ++t) {
            helpers_.push_back(std::make_unique<Helper>(Helper{monitor.helper(
                [this](const Progress&) { return stopped_ ? Stop::interrupted : Stop::none; })}));
        }
        for (unsigned t = 1; t < threads; ++t) threads_.emplace_back([this, t] { help(t); });
    } catch (const std::system_error&) {
        // The system has no more threads, or no memory for them: fewer do it, too.
    } catch (const std::bad_alloc&) {
    }
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

}  // namespace coreplan
