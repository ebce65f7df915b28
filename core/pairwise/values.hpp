#pragma once

#include <cstddef>
#include <span>

#include "dense/matrix.hpp"

// Values of kernel functions of all pairs of rows of two matrices, in a C-ordered table with a row
// for every row of the first and a column for every row of the second.
namespace minimand {

/// Replaces inner products v_ij by exp(factor * max(0, r_i + c_j - 2 v_ij)): with the squared
/// lengths r and c of the rows, the bracket is their squared distance.
template <class Scalar>
void gaussians(std::span<Scalar> table, std::span<const double> row_squares,
               std::span<const double> column_squares, double factor);

/// exp(factor * sum_k |x_ik - z_kj|); z has a column for every row of the second matrix.
template <class Scalar>
void laplacians(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z, double factor,
                std::span<Scalar> table);

/// sum_k min(x_ik, z_kj), likewise.
template <class Scalar>
void sums_of_minima(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z,
                    std::span<Scalar> table);

}  // namespace minimand
