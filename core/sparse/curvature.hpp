#pragma once

#include "sparse/compressed.hpp"

namespace minimand {

/// scores_i = x_i.v + shift, and g = sum_i h_i scores_i x_i, reading every row once.
template <class Scalar, class Index>
void curvature_product(const Compressed<Scalar, Index>& rows, std::span<const double> v,
                       double shift, std::span<const double> h, std::span<double> g,
                       std::span<double> scores);

}  // namespace minimand
