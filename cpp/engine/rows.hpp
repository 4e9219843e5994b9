// Operations on rows of numbers: the inner loops of the kernel. Compiled for several processors;
// the one at hand picks its own at load time. Results are the same on all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coreplan::rows {

// out = p · a
void scale(double* out, const double* a, double p, std::size_t n);
// out += p · a
void add_scaled(double* out, const double* a, double p, std::size_t n);
// out = a + x
void add(double* out, const double* a, double x, std::size_t n);
// out = a + b + x
void add(double* out, const double* a, const double* b, double x, std::size_t n);
// out = max(out, a + x)
void maximise(double* out, const double* a, double x, std::size_t n);
// out = max(out, a + b + x)
void maximise(double* out, const double* a, const double* b, double x, std::size_t n);

// The same, and where a + x is larger than before, code = digit · radix + from.
void maximise(double* out, std::uint32_t* code, const double* a, double x,
              const std::uint32_t* from, std::uint32_t digit, const std::uint32_t* radix,
              std::size_t n);
// Where a + b + x is larger than before, code = digit.
void maximise(double* out, std::uint32_t* code, const double* a, const double* b, double x,
              std::uint32_t digit, std::size_t n);
// code = digit · radix + from
void encode(std::uint32_t* code, const std::uint32_t* from, std::uint32_t digit,
            const std::uint32_t* radix, std::size_t n);

// out[k] = p[k] · a[at[k]]
void gather(double* out, const double* a, const std::uint32_t* at, const double* p, std::size_t n);

}  // namespace coreplan::rows
