#pragma once

#include "descent/centring.hpp"
#include "sparse/compressed.hpp"

namespace minimand {

/// Minimises over (w, b): sum_i q_i t_i + h_i/2 t_i^2 + sum_j l1_j |w_j| + l2_j/2 w_j^2, where
/// t = X_chosen (w - w_in) + b and b is zero unless `centre`. On exit q_i has gained h_i t_i.
template <class Scalar, class Index>
ColumnsReport descend_columns(const Compressed<Scalar, Index>& matrix,
                              std::span<const std::int64_t> chosen, std::span<const double> h,
                              std::span<double> q, std::span<double> w, Penalties penalties,
                              bool centre, StopRule stop);

}  // namespace minimand
