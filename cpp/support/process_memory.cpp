#include "support/process_memory.hpp"

#ifdef __linux__
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace coreplan {

double resident_bytes() {
#ifdef __linux__
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

void share_one_heap() {
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
#endif
}

}  // namespace coreplan
