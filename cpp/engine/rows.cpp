#include "engine/rows.hpp"

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(COREPLAN_ONE_TARGET)
#define COREPLAN_CLONES __attribute__((target_clones("arch=haswell", "default")))
#else
#define COREPLAN_CLONES
#endif

namespace coreplan::rows {

COREPLAN_CLONES
void scale(double* __restrict out, const double* __restrict a, double p, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) out[k] = p * a[k];
}

COREPLAN_CLONES
void add_scaled(double* __restrict out, const double* __restrict a, double p, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) out[k] += p * a[k];
}

COREPLAN_CLONES
void add(double* __restrict out, const double* __restrict a, double x, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) out[k] = a[k] + x;
}

COREPLAN_CLONES
void add(double* __restrict out, const double* __restrict a, const double* __restrict b, double x,
         std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) out[k] = (a[k] + b[k]) + x;
}

COREPLAN_CLONES
void maximise(double* __restrict out, const double* __restrict a, double x, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
        const double value = a[k] + x;
        out[k] = value > out[k] ? value : out[k];
    }
}

COREPLAN_CLONES
void maximise(double* __restrict out, const double* __restrict a, const double* __restrict b,
              double x, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
        const double value = (a[k] + b[k]) + x;
        out[k] = value > out[k] ? value : out[k];
    }
}

COREPLAN_CLONES
void maximise(double* __restrict out, std::uint32_t* __restrict code, const double* __restrict a,
              double x, const std::uint32_t* __restrict from, std::uint32_t digit,
              const std::uint32_t* __restrict radix, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
        const double value = a[k] + x;
        const double before = out[k];
        const std::uint32_t mine = digit * radix[k] + from[k];
        const std::uint32_t old = code[k];
        out[k] = value > before ? value : before;
        code[k] = value > before ? mine : old;
    }
}

COREPLAN_CLONES
void maximise(double* __restrict out, std::uint32_t* __restrict code, const double* __restrict a,
              const double* __restrict b, double x, std::uint32_t digit, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) {
        const double value = (a[k] + b[k]) + x;
        const double before = out[k];
        const std::uint32_t old = code[k];
        out[k] = value > before ? value : before;
        code[k] = value > before ? digit : old;
    }
}

COREPLAN_CLONES
void encode(std::uint32_t* __restrict code, const std::uint32_t* __restrict from,
            std::uint32_t digit, const std::uint32_t* __restrict radix, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) code[k] = digit * radix[k] + from[k];
}

void gather(double* __restrict out, const double* __restrict a, const std::uint32_t* __restrict at,
            const double* __restrict p, std::size_t n) {
    for (std::size_t k = 0; k < n; ++k) out[k] = p[k] * a[at[k]];
}

}  // namespace coreplan::rows
