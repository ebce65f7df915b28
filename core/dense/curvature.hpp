#pragma once

#include "dense/matrix.hpp"

namespace minimand {

/// scores_i = x_i.v + shift, and g = sum_i h_i scores_i x_i, reading every row once.
template <class Scalar>
void dense_curvature_product(const DenseMatrix<Scalar>& matrix, std::span<const double> v,
                             double shift, std::span<const double> h, std::span<double> g,
                             std::span<double> scores);

}  // namespace minimand
