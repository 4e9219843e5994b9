// A set of joint states: rows of classes, found by hash and compared in full.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "support/hashing.hpp"
#include "support/ids.hpp"

namespace coreplan {

class StateSet {
public:
    explicit StateSet(std::size_t width = 0) : width_(width), slots_(64, 0) {}

    struct Found {
        Index number;
        bool is_new;
    };

    Found insert(std::span<const ClassId> row) {
        std::size_t slot = hash(row) & (slots_.size() - 1);
        while (slots_[slot] != 0) {
            const Index number = slots_[slot] - 1;
            if (std::ranges::equal((*this)[number], row)) return {number, false};
            slot = (slot + 1) & (slots_.size() - 1);
        }
        const auto number = static_cast<Index>(count_++);
        slots_[slot] = number + 1;
        rows_.insert(rows_.end(), row.begin(), row.end());
        if (2 * count_ > slots_.size()) grow();
        return {number, true};
    }

    static constexpr Index kNone = ~Index{0};
    [[nodiscard]] Index find(std::span<const ClassId> row) const {
        std::size_t slot = hash(row) & (slots_.size() - 1);
        while (slots_[slot] != 0) {
            const Index number = slots_[slot] - 1;
            if (std::ranges::equal((*this)[number], row)) return number;
            slot = (slot + 1) & (slots_.size() - 1);
        }
        return kNone;
    }

    [[nodiscard]] std::span<const ClassId> operator[](std::size_t number) const {
        return std::span(rows_).subspan(number * width_, width_);
    }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }

    static std::size_t hash(std::span<const ClassId> row) {
        std::size_t hash = kHashSeed;
        for (const ClassId each : row) hash = hash_on(hash, at(each));
        return hash;
    }

private:
    void grow() {
        slots_.assign(4 * slots_.size(), 0);
        for (std::size_t k = 0; k < count_; ++k) {
            std::size_t slot = hash((*this)[k]) & (slots_.size() - 1);
            while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = static_cast<Index>(k) + 1;
        }
    }

    std::size_t width_;
    std::size_t count_ = 0;
    std::vector<ClassId> rows_;
    std::vector<Index> slots_;  // number + 1, or 0 where free
};

}  // namespace coreplan
