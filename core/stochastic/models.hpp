#pragma once

#include <cmath>
#include <cstddef>

#include "scalar/exponential.hpp"

// The numbers of one model, or of eight that learn from the same rows at the same time: a double,
// or eight of them. Every formula is written once for both.
namespace minimand {

inline constexpr std::size_t kTogether =
    8;  // models of a group; definition: doubles of a cache line
typedef double Many __attribute__((vector_size(kTogether * sizeof(double))));

template <class V>
inline constexpr std::size_t kModels = sizeof(V) / sizeof(double);

template <class V>
MINIMAND_INLINE V load_models(const double* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class V>
MINIMAND_INLINE void store_models(double* to, const V& v) {
  __builtin_memcpy(to, &v, sizeof v);
}

template <class V>
MINIMAND_INLINE V same_models(double value) {
  return V{} + value;
}

/// f of each number. f must be inlined always.
template <class V, class Function>
MINIMAND_INLINE V for_each_model(const V& v, const Function& f) {
  double numbers[kModels<V>];
  store_models(numbers, v);
  for (std::size_t m = 0; m < kModels<V>; ++m) numbers[m] = f(numbers[m], m);
  return load_models<V>(numbers);
}

template <class V>
MINIMAND_INLINE V root(V v) {
  return for_each_model(v, [](double number, std::size_t)
                               __attribute__((always_inline)) { return std::sqrt(number); });
}

MINIMAND_INLINE double magnitude(double v) { return std::abs(v); }
template <class V>
MINIMAND_INLINE V magnitude(V v) {
  return v < 0.0 ? -v : v;
}

/// `size`, which is not negative, with the sign of v.
template <class V>
MINIMAND_INLINE V with_sign_of(V v, V size) {
  return v < 0.0 ? -size : size;
}

/// max(0, v).
template <class V>
MINIMAND_INLINE V positive_part(V v) {
  return v > 0.0 ? v : V{};
}

MINIMAND_INLINE double greatest(double v) { return v; }
MINIMAND_INLINE double greatest(Lanes c) {
  double most = c[0];
  for (std::size_t k = 1; k < kLanes; ++k) most = c[k] > most ? c[k] : most;
  return most;
}

MINIMAND_INLINE double greatest(Many v) {
  double numbers[kTogether];
  store_models(numbers, v);
  Lanes most = load_lanes(numbers);
  for (std::size_t m = kLanes; m < kTogether; m += kLanes) {
    const Lanes more = load_lanes(numbers + m);
    most = more > most ? more : most;
  }
  return greatest(most);
}

MINIMAND_INLINE bool any_nonzero(double v) { return v != 0.0; }
MINIMAND_INLINE bool any_nonzero(Many v) { return greatest(magnitude(v)) > 0.0; }

/// e^v.
MINIMAND_INLINE double power_of_e(double v) { return std::exp(v); }
MINIMAND_INLINE Many power_of_e(Many v) {
  double numbers[kTogether];
  store_models(numbers, v);
  for (std::size_t m = 0; m < kTogether; m += kLanes) {
    store_lanes(numbers + m, exponential(load_lanes(numbers + m)));
  }
  return load_models<Many>(numbers);
}

}  // namespace minimand
