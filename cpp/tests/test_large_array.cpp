#include "support/large_array.hpp"

#include <cstdint>

#include "check.hpp"

namespace coreplan {
namespace {

TEST("arrays of any size hold what is put into them, also after they have grown") {
    for (const std::size_t size : {0U, 1U, 1000U, 1U << 20U, (1U << 20U) + 1}) {
        const testing::Context context("size", size);
        LargeArray<std::uint64_t> array(size, 7);
        CHECK(array.size() == size);
        CHECK(static_cast<std::size_t>(array.end() - array.begin()) == size);
        CHECK(std::count(array.begin(), array.end(), 7U) == static_cast<std::ptrdiff_t>(size));
        for (std::size_t k = 0; k < size; ++k) array[k] = k * k;
        array = array.resized(2 * size + 1, size);
        CHECK(array.size() == 2 * size + 1);
        bool same = true;
        for (std::size_t k = 0; k < size; ++k) same = same && array[k] == k * k;
        CHECK(same);
        array[2 * size] = 5;
    }
    CHECK(LargeArray<int>().size() == 0);
}

}  // namespace
}  // namespace coreplan
