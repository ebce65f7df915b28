#pragma once

#include "common/lanes.hpp"

// Vectors of floats as long as those of doubles, for tables in single precision.
namespace minimand {

MINIMAND_INLINE void store_lanes(float* target, Lanes lanes) {
  const FloatLanes narrow = __builtin_convertvector(lanes, FloatLanes);
  __builtin_memcpy(target, &narrow, sizeof narrow);
}

/// Vectors of T that fill a register of the target: Lanes, or twice as many floats.
template <class T>
struct FullVector;
template <>
struct FullVector<double> {
  typedef Lanes Type;
};
template <>
struct FullVector<float> {
  typedef float Type __attribute__((vector_size(MINIMAND_VECTOR_BYTES)));
};
template <class T>
inline constexpr std::size_t kFull = MINIMAND_VECTOR_BYTES / sizeof(T);

template <class T>
MINIMAND_INLINE typename FullVector<T>::Type load_full(const T* source) {
  typename FullVector<T>::Type found;
  __builtin_memcpy(&found, source, sizeof found);
  return found;
}

template <class T>
MINIMAND_INLINE void store_full(T* target, typename FullVector<T>::Type vector) {
  __builtin_memcpy(target, &vector, sizeof vector);
}

}  // namespace minimand
