// Hashes of sequences of numbers, one number after the other.
#pragma once

#include <cstddef>

namespace coreplan {

constexpr std::size_t kHashSeed = 0x9e3779b97f4a7c15ULL;

constexpr std::size_t hash_on(std::size_t hash, std::size_t value) noexcept {
    hash = (hash ^ value) * 0xbf58476d1ce4e5b9ULL;
    return hash ^ (hash >> 29U);
}

}  // namespace coreplan
