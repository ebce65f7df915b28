#pragma once

#include "dense/matrix.hpp"

namespace minimand {

/// X' diag(h) X, symmetric, of side matrix.columns().
template <class Scalar>
void dense_gram(const DenseMatrix<Scalar>& matrix, std::span<const double> h,
                std::span<double> gram);

/// sum_i h_i (x_i - centre)(x_i - centre)' and sum_i h_i (x_i - centre).
///
/// The centre is subtracted before the products, so that columns whose mean is much larger than
/// their spread lose no digits.
template <class Scalar>
void dense_covariance(const DenseMatrix<Scalar>& matrix, std::span<const double> h,
                      std::span<const double> centre, std::span<double> gram,
                      std::span<double> first);

}  // namespace minimand
