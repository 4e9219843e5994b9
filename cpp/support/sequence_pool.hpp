// Hash-consing of short sequences: equal sequences get the same number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace coreplan {

class SequencePool {
public:
    using Word = std::uint64_t;

    struct Found {
        std::uint32_t id;
        bool is_new;
    };

    SequencePool() { clear(); }

    // The number of this sequence; numbers are given in order of first appearance.
    Found intern(std::span<const Word> sequence);

    [[nodiscard]] std::span<const Word> operator[](std::uint32_t id) const {
        return std::span(words_).subspan(begin_[id], begin_[id + 1] - begin_[id]);
    }
    [[nodiscard]] std::size_t size() const noexcept { return begin_.size() - 1; }

    // Forgets all sequences but keeps the memory.
    void clear();

private:
    static std::uint64_t hash(std::span<const Word> sequence) noexcept;
    void grow();

    std::vector<Word> words_;
    std::vector<std::size_t> begin_;
    std::vector<std::uint64_t> hashes_;
    std::vector<std::uint32_t> slots_;  // id + 1, or 0 where free
};

}  // namespace coreplan
