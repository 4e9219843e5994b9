#include "support/sequence_pool.hpp"

#include <algorithm>

namespace coreplan {

namespace {

constexpr std::size_t kFirstSlots = 64;

constexpr std::uint64_t mix(std::uint64_t x) noexcept {
    x ^= x >> 32U;
    x *= 0xe9846af9b1a615dULL;
    x ^= x >> 32U;
    x *= 0xe9846af9b1a615dULL;
    x ^= x >> 28U;
    return x;
}

}  // namespace

std::uint64_t SequencePool::hash(std::span<const Word> sequence) noexcept {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL ^ sequence.size();
    for (const Word word : sequence) h = mix(h ^ mix(word)) + 0x9e3779b97f4a7c15ULL;
    return h;
}

void SequencePool::clear() {
    words_.clear();
    begin_.assign(1, 0);
    hashes_.clear();
    slots_.assign(std::max(slots_.size(), kFirstSlots), 0);
}

SequencePool::Found SequencePool::intern(std::span<const Word> sequence) {
    const std::uint64_t h = hash(sequence);
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(h) & mask;
    while (slots_[slot] != 0) {
        const std::uint32_t id = slots_[slot] - 1;
        if (hashes_[id] == h && std::ranges::equal((*this)[id], sequence)) return {id, false};
        slot = (slot + 1) & mask;
    }
    const auto id = static_cast<std::uint32_t>(size());
    slots_[slot] = id + 1;
    hashes_.push_back(h);
    words_.insert(words_.end(), sequence.begin(), sequence.end());
    begin_.push_back(words_.size());
    if (2 * size() > slots_.size()) grow();
    return {id, true};
}

void SequencePool::grow() {
    slots_.assign(slots_.size() * 2, 0);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t id = 0; id < size(); ++id) {
        std::size_t slot = static_cast<std::size_t>(hashes_[id]) & mask;
        while (slots_[slot] != 0) slot = (slot + 1) & mask;
        slots_[slot] = static_cast<std::uint32_t>(id) + 1;
    }
}

}  // namespace coreplan
