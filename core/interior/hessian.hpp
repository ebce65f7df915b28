#pragma once

#include <cstddef>
#include <span>

#include "dense/gram.hpp"
#include "dense/matrix.hpp"

namespace minimand {

/// X'HX of few columns, H = diag(rates) of sum `total`, the intercept eliminated: X minus its mean
/// under the rates. `mean` gets that mean; columns that vary by rounding only get zeros.
template <class Scalar>
void centred_hessian(const DenseMatrix<Scalar>& matrix, std::span<const double> rates, double total,
                     std::span<const double> centre, std::span<double> gram,
                     std::span<double> mean) {
  constexpr double kConstant = 1e-26;  // share of mean^2 that is rounding of a variance; safeguard
  const std::size_t d = matrix.columns();
  dense_covariance(matrix, rates, centre, gram, mean);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) gram[i * d + j] -= mean[i] * (mean[j] / total);
  }
  for (std::size_t j = 0; j < d; ++j) mean[j] = centre[j] + mean[j] / total;
  for (std::size_t j = 0; j < d; ++j) {
    if (gram[j * d + j] > kConstant * mean[j] * mean[j] * total) continue;
    for (std::size_t i = 0; i < d; ++i) gram[i * d + j] = gram[j * d + i] = 0.0;
  }
}

}  // namespace minimand
