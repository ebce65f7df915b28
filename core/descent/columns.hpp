#pragma once

#include <cmath>
#include <limits>
#include <span>

#include "descent/centring.hpp"
#include "sparse/compressed.hpp"

namespace minimand {

/// What a column's steps need besides its product with q; NaN before it is computed.
struct ColumnMoments {
  double weighted_sum = std::numeric_limits<double>::quiet_NaN();  // sum_i h_i x_i, 0 without b
  double curvature = std::numeric_limits<double>::quiet_NaN();     // sum_i h_i (x_i - mean)^2

  MINIMAND_INLINE bool known() const { return !std::isnan(curvature); }
};

/// Minimises over (w, b): sum_i q_i t_i + h_i/2 t_i^2 + sum_j l1_j |w_j| + l2_j/2 w_j^2, where
/// t = X_chosen (w - w_in) + b and b is zero unless `centre`. On exit q_i has gained h_i t_i.
/// `moments`, if not empty, are those of the chosen columns, kept from call to call with the same
/// h.
template <class Scalar, class Index>
ColumnsReport descend_columns(const Compressed<Scalar, Index>& matrix,
                              std::span<const std::int64_t> chosen, std::span<const double> h,
                              std::span<double> q, std::span<double> w, Penalties penalties,
                              bool centre, StopRule stop, std::span<ColumnMoments> moments = {});

}  // namespace minimand
