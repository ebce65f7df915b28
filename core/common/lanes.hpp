#pragma once

#include <cstddef>
#include <cstdint>

#include "common/targets.hpp"

#if defined(__SSE2__) && MINIMAND_VECTOR_BYTES == 16
#include <emmintrin.h>
#endif

// Short vectors of doubles, as long as a register of the target. The source fixes the order of
// every addition.
namespace minimand {

inline constexpr std::size_t kLanes = MINIMAND_VECTOR_BYTES / sizeof(double);
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double))));
typedef std::uint64_t LaneBits __attribute__((vector_size(kLanes * sizeof(double))));
typedef float FloatLanes __attribute__((vector_size(kLanes * sizeof(float))));

MINIMAND_INLINE Lanes load_lanes(const double* source) {
  Lanes lanes;
  __builtin_memcpy(&lanes, source, sizeof lanes);
  return lanes;
}

MINIMAND_INLINE Lanes load_lanes(const float* source) {
  FloatLanes lanes;
  __builtin_memcpy(&lanes, source, sizeof lanes);
  return __builtin_convertvector(lanes, Lanes);
}

MINIMAND_INLINE Lanes same_lanes(double value) { return value - Lanes{}; }

MINIMAND_INLINE LaneBits bits_of(Lanes lanes) { return (LaneBits)lanes; }
MINIMAND_INLINE Lanes lanes_of(LaneBits bits) { return (Lanes)bits; }

/// Per lane: the first value where the mask of a comparison holds, else the second.
template <class Mask>
MINIMAND_INLINE Lanes select(Mask mask, Lanes one, Lanes other) {
  return mask ? one : other;
}

/// Per lane: x, but at least low and at most high; NaN stays.
///
/// Without the select instruction of newer processors a choice takes four instructions; least and
/// greatest take one, and give their second operand if one of the two is NaN.
MINIMAND_INLINE Lanes clamp(Lanes x, double low, double high) {
#if defined(__SSE2__) && MINIMAND_VECTOR_BYTES == 16
  return _mm_max_pd(same_lanes(low), _mm_min_pd(same_lanes(high), x));
#else
  x = select(x > high, same_lanes(high), x);
  return select(x < low, same_lanes(low), x);
#endif
}

/// Up to kLanes elements, the rest zero.
MINIMAND_INLINE Lanes load_some(const double* source, std::size_t count) {
  Lanes lanes = {};
  for (std::size_t k = 0; k < count; ++k) lanes[k] = source[k];
  return lanes;
}

MINIMAND_INLINE void store_some(double* target, Lanes lanes, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) target[k] = lanes[k];
}

MINIMAND_INLINE void store_lanes(double* target, Lanes lanes) {
  __builtin_memcpy(target, &lanes, sizeof lanes);
}

#if MINIMAND_VECTOR_BYTES == 16

MINIMAND_INLINE double sum_lanes(Lanes lanes) { return lanes[0] + lanes[1]; }

/// Turns rows into columns.
MINIMAND_INLINE void transpose(Lanes (&rows)[kLanes]) {
  const Lanes first = __builtin_shufflevector(rows[0], rows[1], 0, 2);
  rows[1] = __builtin_shufflevector(rows[0], rows[1], 1, 3);
  rows[0] = first;
}

#else

MINIMAND_INLINE double sum_lanes(Lanes lanes) {
  return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/// Turns rows into columns.
MINIMAND_INLINE void transpose(Lanes (&rows)[kLanes]) {
  const Lanes low01 = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6);
  const Lanes high01 = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
  const Lanes low23 = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6);
  const Lanes high23 = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);
  rows[0] = __builtin_shufflevector(low01, low23, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(high01, high23, 0, 1, 4, 5);
  rows[2] = __builtin_shufflevector(low01, low23, 2, 3, 6, 7);
  rows[3] = __builtin_shufflevector(high01, high23, 2, 3, 6, 7);
}

#endif

/// Dot product with enough independent accumulators to hide the latency of the additions.
template <class Scalar>
MINIMAND_INLINE double dot(const Scalar* x, const double* y, std::size_t n) {
  Lanes sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
  std::size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    sum0 += load_lanes(x + i) * load_lanes(y + i);
    sum1 += load_lanes(x + i + kLanes) * load_lanes(y + i + kLanes);
    sum2 += load_lanes(x + i + 2 * kLanes) * load_lanes(y + i + 2 * kLanes);
    sum3 += load_lanes(x + i + 3 * kLanes) * load_lanes(y + i + 3 * kLanes);
  }
  for (; i + kLanes <= n; i += kLanes) sum0 += load_lanes(x + i) * load_lanes(y + i);
  double tail = 0.0;
  for (; i < n; ++i) tail += static_cast<double>(x[i]) * y[i];
  return sum_lanes((sum0 + sum1) + (sum2 + sum3)) + tail;
}

/// Sum, with as many accumulators as the dot product.
MINIMAND_INLINE double sum(const double* x, std::size_t n) {
  Lanes sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
  std::size_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    sum0 += load_lanes(x + i);
    sum1 += load_lanes(x + i + kLanes);
    sum2 += load_lanes(x + i + 2 * kLanes);
    sum3 += load_lanes(x + i + 3 * kLanes);
  }
  double tail = 0.0;
  for (; i < n; ++i) tail += x[i];
  return sum_lanes((sum0 + sum1) + (sum2 + sum3)) + tail;
}

}  // namespace minimand
