// Random numbers that are the same on every machine (splitmix64).
#pragma once

#include <cstddef>
#include <cstdint>

namespace coreplan {

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15ULL;
        std::uint64_t x = state_;
        x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
        return x ^ (x >> 31U);
    }

    // A number below `bound`, which is at least 1 and at most 2^32.
    std::size_t below(std::size_t bound) {
        return static_cast<std::size_t>(((next() >> 32U) * bound) >> 32U);
    }

    // A number in [0, 1).
    double unit() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

private:
    std::uint64_t state_;
};

}  // namespace coreplan
