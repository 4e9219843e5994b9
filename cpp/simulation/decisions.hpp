// What agents that decide together choose in the joint states that have come up so far.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "support/hashing.hpp"
#include "support/ids.hpp"

namespace coreplan {

class Decisions {
public:
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] std::size_t bytes() const noexcept {
        return sizeof(Index) * (states_.capacity() + choices_.capacity() + slots_.capacity());
    }

    // The row of a joint state, or kNone. All joint states have the same length.
    [[nodiscard]] std::size_t find(std::span<const Index> state) const noexcept {
        if (slots_.empty()) return kNone;
        for (std::size_t slot = place(state);; slot = (slot + 1) & (slots_.size() - 1)) {
            if (slots_[slot] == 0) return kNone;
            if (is_at(slots_[slot] - 1, state)) return slots_[slot] - 1;
        }
    }

    // Adds a joint state; false if it is there already.
    bool add(std::span<const Index> state) {
        if (find(state) != kNone) return false;
        states_.insert(states_.end(), state.begin(), state.end());
        choices_.resize(states_.size());
        ++count_;
        if (2 * count_ > slots_.size()) {
            grow(state.size());
        } else {
            put(count_ - 1, state);
        }
        return true;
    }

    [[nodiscard]] std::span<Index> choices(std::size_t row, std::size_t width) noexcept {
        return std::span(choices_).subspan(row * width, width);
    }
    [[nodiscard]] std::span<const Index> choices(std::size_t row,
                                                 std::size_t width) const noexcept {
        return std::span(choices_).subspan(row * width, width);
    }

private:
    [[nodiscard]] std::size_t place(std::span<const Index> state) const noexcept {
        std::size_t hash = kHashSeed;
        for (const Index each : state) hash = hash_on(hash, each);
        return hash & (slots_.size() - 1);
    }
    [[nodiscard]] bool is_at(std::size_t row, std::span<const Index> state) const noexcept {
        const Index* known = states_.data() + row * state.size();
        for (std::size_t k = 0; k < state.size(); ++k) {
            if (known[k] != state[k]) return false;
        }
        return true;
    }
    void put(std::size_t row, std::span<const Index> state) noexcept {
        std::size_t slot = place(state);
        while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = static_cast<Index>(row + 1);
    }
    void grow(std::size_t width) {
        slots_.assign(slots_.empty() ? 16 : 2 * slots_.size(), 0);
        for (std::size_t row = 0; row < count_; ++row) {
            put(row, std::span(states_).subspan(row * width, width));
        }
    }

    std::size_t count_ = 0;
    std::vector<Index> states_;   // a row of `width` numbers for each joint state
    std::vector<Index> choices_;  // the same for what is chosen
    std::vector<Index> slots_;    // by hash: row + 1, or 0; a power of two of them
};

}  // namespace coreplan
