#pragma once

#include <algorithm>
#include <cstddef>

#include "common/parallel.hpp"
#include "common/targets.hpp"

// Vectors as long as a register, of either precision; many lines are divided among threads.
namespace minimand {

template <class Scalar>
struct WideVector;
template <>
struct WideVector<double> {
  typedef double Type __attribute__((vector_size(MINIMAND_VECTOR_BYTES)));
};
template <>
struct WideVector<float> {
  typedef float Type __attribute__((vector_size(MINIMAND_VECTOR_BYTES)));
};
template <class Scalar>
using Wide = typename WideVector<Scalar>::Type;
template <class Scalar>
inline constexpr std::size_t kWide = MINIMAND_VECTOR_BYTES / sizeof(Scalar);

template <class Scalar>
MINIMAND_INLINE Wide<Scalar> load_wide(const Scalar* from) {
  Wide<Scalar> found;
  __builtin_memcpy(&found, from, sizeof found);
  return found;
}

template <class Scalar>
MINIMAND_INLINE void store_wide(Scalar* to, Wide<Scalar> x) {
  __builtin_memcpy(to, &x, sizeof x);
}

template <class Scalar>
MINIMAND_INLINE Wide<Scalar> same_wide(Scalar value) {
  return value - Wide<Scalar>{};
}

/// Calls f(range) for ranges of [0, n) on as many threads as `work` element operations justify.
/// Ranges begin at multiples of `block`: what is computed in blocks is the same on any number of
/// threads.
template <class Function>
void parallel_blocks(std::size_t n, std::size_t block, std::size_t work, const Function& f) {
  if (work < kWorkWorthAThread) return f(Range{0, n});
  parallel_ranges((n + block - 1) / block, work, [&](Range blocks, std::size_t) {
    f(Range{block * blocks.begin, std::min(block * blocks.end, n)});
  });
}

/// Lines one after the other, and lines anywhere.
struct LinesBeside {
  const double* lines;
  std::size_t n;
  MINIMAND_INLINE const double* operator()(std::size_t l) const { return lines + l * n; }
};
template <class Scalar>
struct LinesAnywhere {
  const Scalar* const* lines;
  MINIMAND_INLINE const Scalar* operator()(std::size_t l) const { return lines[l]; }
};

}  // namespace minimand
