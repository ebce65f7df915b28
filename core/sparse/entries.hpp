#pragma once

#include <cstddef>
#include <span>

#include "common/targets.hpp"

// Operations of one sparse vector with one dense vector.
namespace minimand {

/// Dot product; four independent sums hide the latency of random loads.
template <class Scalar, class Index>
MINIMAND_INLINE double sparse_dot(std::span<const Scalar> values, std::span<const Index> indices,
                                  std::span<const double> dense) {
  const Scalar* value = values.data();
  const Index* index = indices.data();
  const double* x = dense.data();
  const std::size_t n = values.size();
  double sum0 = 0.0, sum1 = 0.0, sum2 = 0.0, sum3 = 0.0;
  std::size_t k = 0;
  for (; k + 4 <= n; k += 4) {
    sum0 += static_cast<double>(value[k]) * x[index[k]];
    sum1 += static_cast<double>(value[k + 1]) * x[index[k + 1]];
    sum2 += static_cast<double>(value[k + 2]) * x[index[k + 2]];
    sum3 += static_cast<double>(value[k + 3]) * x[index[k + 3]];
  }
  for (; k < n; ++k) sum0 += static_cast<double>(value[k]) * x[index[k]];
  return (sum0 + sum1) + (sum2 + sum3);
}

/// dense += scale * sparse.
template <class Scalar, class Index>
MINIMAND_INLINE void sparse_axpy(double scale, std::span<const Scalar> values,
                                 std::span<const Index> indices, std::span<double> dense) {
  const Scalar* value = values.data();
  const Index* index = indices.data();
  double* y = dense.data();
  const std::size_t n = values.size();
  for (std::size_t k = 0; k < n; ++k) y[index[k]] += scale * static_cast<double>(value[k]);
}

}  // namespace minimand
