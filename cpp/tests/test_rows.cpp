#include "engine/rows.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"

namespace coreplan {
namespace {

// Lengths around those of vector registers, and rows that do not begin at round addresses.
constexpr std::size_t kLengths[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 64, 100};

std::vector<double> numbers(std::mt19937_64& draw, std::size_t n) {
    std::uniform_real_distribution<double> some(-10, 10);
    std::vector<double> made(n);
    for (double& each : made) each = some(draw);
    return made;
}

TEST("operations on rows do what they say, whatever the length") {
    std::mt19937_64 draw(1);
    for (const std::size_t n : kLengths) {
        const testing::Context context("length", n);
        const auto a = numbers(draw, n + 1);
        const auto b = numbers(draw, n + 1);
        const auto old = numbers(draw, n + 1);
        const double* x = a.data() + 1;
        const double* y = b.data() + 1;
        auto out = old;
        double* to = out.data() + 1;
        rows::scale(to, x, 0.3, n);
        for (std::size_t k = 0; k < n; ++k) CHECK(to[k] == 0.3 * x[k]);
        out = old;
        rows::add_scaled(to, x, 0.3, n);
        for (std::size_t k = 0; k < n; ++k) CHECK(to[k] == old[k + 1] + 0.3 * x[k]);
        rows::add(to, x, 2.5, n);
        for (std::size_t k = 0; k < n; ++k) CHECK(to[k] == x[k] + 2.5);
        rows::add(to, x, y, 2.5, n);
        for (std::size_t k = 0; k < n; ++k) CHECK(to[k] == (x[k] + y[k]) + 2.5);
        out = old;
        rows::maximise(to, x, 0.5, n);
        for (std::size_t k = 0; k < n; ++k) CHECK(to[k] == std::max(old[k + 1], x[k] + 0.5));
        out = old;
        rows::maximise(to, x, y, 0.5, n);
        for (std::size_t k = 0; k < n; ++k) {
            CHECK(to[k] == std::max(old[k + 1], (x[k] + y[k]) + 0.5));
        }
        CHECK(out[0] == old[0]);  // nothing beside the row is touched
    }
}

TEST("codes follow the larger values; equal ones keep the first") {
    std::mt19937_64 draw(2);
    for (const std::size_t n : kLengths) {
        const testing::Context context("length", n);
        auto a = numbers(draw, n);
        const auto b = numbers(draw, n);
        const auto old = numbers(draw, n);
        if (n > 2) a[2] = old[2] - 1;  // a tie
        std::vector<std::uint32_t> from(n);
        std::vector<std::uint32_t> radix(n);
        for (std::size_t k = 0; k < n; ++k) {
            from[k] = static_cast<std::uint32_t>(k);
            radix[k] = static_cast<std::uint32_t>(3 * k + 1);
        }
        auto out = old;
        std::vector<std::uint32_t> code(n, 77);
        rows::maximise(out.data(), code.data(), a.data(), 1.0, from.data(), 5, radix.data(), n);
        for (std::size_t k = 0; k < n; ++k) {
            const bool better = a[k] + 1.0 > old[k];
            CHECK(out[k] == std::max(old[k], a[k] + 1.0));
            CHECK(code[k] == (better ? 5 * radix[k] + from[k] : 77));
        }
        out = old;
        code.assign(n, 77);
        rows::maximise(out.data(), code.data(), a.data(), b.data(), 1.0, 6, n);
        for (std::size_t k = 0; k < n; ++k) {
            CHECK(code[k] == ((a[k] + b[k]) + 1.0 > old[k] ? 6U : 77U));
        }
        rows::encode(code.data(), from.data(), 2, radix.data(), n);
        for (std::size_t k = 0; k < n; ++k) CHECK(code[k] == 2 * radix[k] + from[k]);
    }
}

TEST("gathering takes each number from its place") {
    std::mt19937_64 draw(3);
    const auto a = numbers(draw, 10);
    const std::vector<std::uint32_t> places{9, 0, 4, 4, 7};
    const auto p = numbers(draw, places.size());
    std::vector<double> out(places.size());
    rows::gather(out.data(), a.data(), places.data(), p.data(), places.size());
    for (std::size_t k = 0; k < places.size(); ++k) CHECK(out[k] == p[k] * a[places[k]]);
}

}  // namespace
}  // namespace coreplan
