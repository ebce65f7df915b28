#pragma once

#include <cstddef>
#include <span>

#include "dense/gram.hpp"
#include "dense/matrix.hpp"

namespace minimand {

/// Eliminates the intercept: from sums of (x - centre)(x - centre)' and of x - centre, under rates
/// of sum `total`, to those of x minus its mean under the rates. `mean` gets that mean; columns
/// that vary by rounding only get zeros.
inline void eliminate_intercept(double total, std::span<const double> centre,
                                std::span<double> gram, std::span<double> mean) {
  constexpr double kConstant = 1e-26;  // share of mean^2 that is rounding of a variance; safeguard
  const std::size_t d = mean.size();
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) gram[i * d + j] -= mean[i] * (mean[j] / total);
  }
  for (std::size_t j = 0; j < d; ++j) mean[j] = centre[j] + mean[j] / total;
  for (std::size_t j = 0; j < d; ++j) {
    if (gram[j * d + j] > kConstant * mean[j] * mean[j] * total) continue;
    for (std::size_t i = 0; i < d; ++i) gram[i * d + j] = gram[j * d + i] = 0.0;
  }
}

/// X'HX of few columns, H = diag(rates) of sum `total`, the intercept eliminated, and the mean of X
/// under the rates.
template <class Scalar>
void centred_hessian(const DenseMatrix<Scalar>& matrix, std::span<const double> rates, double total,
                     std::span<const double> centre, std::span<double> gram,
                     std::span<double> mean) {
  dense_covariance(matrix, rates, centre, gram, mean);
  eliminate_intercept(total, centre, gram, mean);
}

}  // namespace minimand
