// Independent pieces of work, shared out over threads: one round by a `Crew`, which ends when a
// limit strikes. What a piece gives must not depend on who does it or when: then neither do
// results.
#pragma once

#include <cstddef>
#include <functional>

#include "support/monitor.hpp"

namespace coreplan {

class WorkList {
public:
    // Does one piece, as worker number `worker`; looks at the monitor it is given.
    using Piece = std::function<void(std::size_t piece, unsigned worker, Monitor& monitor)>;

    explicit WorkList(unsigned threads) : threads_(threads < 1 ? 1 : threads) {}
    [[nodiscard]] unsigned threads() const noexcept { return threads_; }

    // Does pieces 0 to count - 1, started in this order. False if a limit struck: then some are not
    // done, or not done whole. What a piece throws is thrown here, after all have stopped.
    bool run(std::size_t count, const Piece& piece, Monitor& monitor) const;

private:
    unsigned threads_;
};

}  // namespace coreplan
