#pragma once

#include "dense/matrix.hpp"

namespace minimand {

/// X' diag(h) X, symmetric, of side matrix.columns().
template <class Scalar>
void dense_gram(const DenseMatrix<Scalar>& matrix, std::span<const double> h,
                std::span<double> gram);

}  // namespace minimand
