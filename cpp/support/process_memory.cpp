#include "support/process_memory.hpp"

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace coreplan {

// Sanitizers take memory of their own, and keep what is freed: what the system says is then theirs.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COREPLAN_KNOWS_SIZE
#endif

double resident_bytes() {
#ifdef COREPLAN_KNOWS_SIZE
    // Opened each time: after a fork it would be about the other process.
    const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    char text[128];
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return 0;
    text[length] = '\0';
    char* rest = text;
    std::strtod(rest, &rest);  // addresses
    const double resident = std::strtod(rest, &rest);
    const double shared = std::strtod(rest, &rest);
    return (resident - shared) * static_cast<double>(sysconf(_SC_PAGESIZE));
#else
    return 0;
#endif
}

void return_freed_memory() {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

namespace {

std::atomic<bool> one_heap{false};

}  // namespace

bool shares_one_heap() { return one_heap.load(std::memory_order_relaxed); }

// Of the heap, not a piece of its own, and more than enough.
RoomForThread::RoomForThread() : bytes_(std::make_unique<char[]>(1U << 16U)) {
    *static_cast<volatile char*>(bytes_.get()) = 1;
}

void prepare_thread() {
    // Looks at the thread's exceptions, which have their own memory; volatile, or nobody would
    // look.
    [[maybe_unused]] const volatile int count = std::uncaught_exceptions();
}

void share_one_heap() {
    one_heap = true;
    prepare_thread();
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace coreplan
