#pragma once

#include "dense/matrix.hpp"

namespace minimand {

/// With t_i = h_i (x_i.v + shift): adds up g = sum_i t_i x_i and returns sum_i t_i.
template <class Scalar>
double dense_curvature_product(const DenseMatrix<Scalar>& matrix, std::span<const double> v,
                               double shift, std::span<const double> h, std::span<double> g);

}  // namespace minimand
