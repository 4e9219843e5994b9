#include "support/work_list.hpp"

#include <algorithm>
#include <atomic>

#include "support/crew.hpp"

namespace coreplan {

bool WorkList::run(std::size_t count, const Piece& piece, Monitor& monitor) const {
    Crew crew(static_cast<unsigned>(std::min<std::size_t>(threads_, count)), monitor);
    std::atomic<bool> stopped{false};
    const auto stop = [&] {
        stopped = true;
        crew.interrupt();
    };
    crew.run(count, [&](std::size_t mine, unsigned worker, Monitor& own) {
        if (stopped) return;
        try {
            piece(mine, worker, own);
        } catch (...) {
            stop();
            throw;
        }
        if (own.stop() != Stop::none) stop();
    });
    return !stopped;
}

}  // namespace coreplan
