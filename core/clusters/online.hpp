#pragma once

#include "common/row_kernels.hpp"

namespace minimand {

/// Online k-means: every row, one after the other, goes to the nearest centre, which becomes the
/// mean of the rows it has had so far: n_c += w, c += (w / n_c) (x - c). A centre with a count of 0
/// is replaced by its first row.
template <class Matrix>
void learn_online(const Matrix& matrix, std::span<const double> weights, std::span<double> centers,
                  std::span<double> counts, std::span<std::int32_t> labels);

}  // namespace minimand
