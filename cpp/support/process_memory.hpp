// What this process has of the machine's memory, as the system sees it.
#pragma once

#include <memory>

namespace coreplan {

// Bytes of its own that are in memory now, shared pages and files not counted; 0 where the system
// does not say.
double resident_bytes();

// Hands memory that was freed back to the system: the allocator would else keep it.
void return_freed_memory();

// Lets all threads take memory from one heap. Each heap of a thread's own takes 64 MB of addresses:
// too much where addresses are limited (`ulimit -v`).
void share_one_heap();
// Whether that has been asked for: memory can run out at any request.
bool shares_one_heap();

// Takes what the runtime needs for this thread, now: it ends the process if that cannot be had.
void prepare_thread();
// As much memory as that; throws std::bad_alloc if it cannot be had. To be let go just before.
class RoomForThread {
public:
    RoomForThread();

private:
    std::unique_ptr<char[]> bytes_;
};

}  // namespace coreplan
