#pragma once

#include "sparse/compressed.hpp"

namespace minimand {

/// With t_i = h_i (x_i.v + shift): adds up g = sum_i t_i x_i and returns sum_i t_i.
template <class Scalar, class Index>
double curvature_product(const Compressed<Scalar, Index>& rows, std::span<const double> v,
                         double shift, std::span<const double> h, std::span<double> g);

}  // namespace minimand
