#pragma once

#include "scores/vectors.hpp"

namespace minimand {

/// scale (diag(p) - p p') t for one row; the result may be t itself.
template <class T>
MINIMAND_INLINE void simplex_row(const double* p, std::size_t k, double scale, const T* t,
                                 T* result) {
  const double mean = dot(t, p, k);
  std::size_t c = 0;
  for (; c + kLanes <= k; c += kLanes) {
    const Lanes moved = load_lanes(t + c) - same_lanes(mean);
    store_lanes(result + c, scale * (load_lanes(p + c) * moved));
  }
  for (; c < k; ++c) result[c] = static_cast<T>(scale * (p[c] * (t[c] - mean)));
}

}  // namespace minimand
