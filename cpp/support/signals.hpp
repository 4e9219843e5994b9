// Signals of the process, such as Ctrl-C, and the thread that gets them.
#pragma once

#if defined(__unix__) || defined(__APPLE__)
#include <csignal>
#endif

namespace coreplan {

// Threads that are started meanwhile get no signals, as long as they live. The system may hand a
// signal of the process to any thread that takes it; a program whose main thread waits for signals,
// as Python's does, may then not notice it for a long time.
class SignalsHeldBack {
public:
#if defined(__unix__) || defined(__APPLE__)
    SignalsHeldBack() noexcept {
        sigset_t all;
        sigfillset(&all);
        held_ = pthread_sigmask(SIG_SETMASK, &all, &before_) == 0;
    }
    ~SignalsHeldBack() {
        if (held_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
#else
    SignalsHeldBack() noexcept {}
    ~SignalsHeldBack() {}
#endif
    SignalsHeldBack(const SignalsHeldBack&) = delete;
    SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

#if defined(__unix__) || defined(__APPLE__)
private:
    sigset_t before_;
    bool held_ = false;
#endif
};

}  // namespace coreplan
