#pragma once

#include "common/row_kernels.hpp"

namespace minimand {

/// One pass of single moves (Hartigan 1975): every row, one after the other, goes to the cluster
/// where it lowers sum_i w_i |x_i - c|^2 most, the changes of both means taken into account. With
/// the weight w of the row and W_a, W_b of the clusters,
///
///   leaving a saves w W_a / (W_a - w) |x - c_a|^2, joining b costs w W_b / (W_b + w) |x - c_b|^2.
///
/// A cluster with one row keeps it. Changes labels, means and weights of clusters, and returns the
/// number of rows that moved; ends early if it is asked to stop.
template <class Matrix>
std::size_t move_rows(const Matrix& matrix, std::span<const double> weights,
                      std::span<double> centers, std::span<double> masses,
                      std::span<std::int32_t> labels);

}  // namespace minimand
