// Arrays of plain data that are read at random. From a few megabytes on they ask the system for
// large pages: most of the time would else go into finding pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace coreplan {

template <class T>
class LargeArray {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    LargeArray() = default;
    // Not initialised.
    explicit LargeArray(std::size_t size) : size_(size) {
        const std::size_t page = size * sizeof(T) >= 2 * kLargePage ? kLargePage : kSmallPage;
        const std::size_t bytes =
            (std::max<std::size_t>(size * sizeof(T), 1) + page - 1) / page * page;
        data_.reset(static_cast<T*>(std::aligned_alloc(page, bytes)));
        if (data_ == nullptr) throw std::bad_alloc();
#ifdef __linux__
        // Only advice: without large pages it is slower, not wrong.
        if (page == kLargePage) madvise(data_.get(), bytes, MADV_HUGEPAGE);
#endif
    }
    LargeArray(std::size_t size, const T& value) : LargeArray(size) {
        std::fill_n(data_.get(), size, value);
    }

    // The first `count` elements in a new array of another size.
    [[nodiscard]] LargeArray resized(std::size_t size, std::size_t count) const {
        LargeArray other(size);
        if (count > 0) std::memcpy(other.data_.get(), data_.get(), count * sizeof(T));
        return other;
    }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    T& operator[](std::size_t k) { return data_[k]; }
    const T& operator[](std::size_t k) const { return data_[k]; }
    T* begin() { return data_.get(); }
    T* end() { return data_.get() + size_; }
    const T* begin() const { return data_.get(); }
    const T* end() const { return data_.get() + size_; }

private:
    static constexpr std::size_t kSmallPage = 64;  // a line of the processor's cache
    static constexpr std::size_t kLargePage = std::size_t{1} << 21U;

    struct FreeDeleter {
        void operator()(void* memory) const noexcept { std::free(memory); }
    };

    std::unique_ptr<T[], FreeDeleter> data_;
    std::size_t size_ = 0;
};

}  // namespace coreplan
