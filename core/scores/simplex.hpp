#pragma once

#include "common/lanes.hpp"

namespace minimand {

/// scale (diag(p) - p p') t for one row; the result may be t itself.
MINIMAND_INLINE void simplex_row(const double* p, std::size_t k, double scale, const double* t,
                                 double* result) {
  const double mean = dot(p, t, k);
  std::size_t c = 0;
  for (; c + kLanes <= k; c += kLanes) {
    const Lanes moved = load_lanes(t + c) - same_lanes(mean);
    store_lanes(result + c, scale * (load_lanes(p + c) * moved));
  }
  for (; c < k; ++c) result[c] = scale * (p[c] * (t[c] - mean));
}

}  // namespace minimand
