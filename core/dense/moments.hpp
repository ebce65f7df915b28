#pragma once

#include "dense/matrix.hpp"

namespace minimand {

/// Per column: sum of h x and of h x^2.
template <class Scalar>
void dense_moments(const DenseMatrix<Scalar>& matrix, std::span<const double> h,
                   std::span<double> first, std::span<double> second);

}  // namespace minimand
