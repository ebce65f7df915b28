#pragma once

#include <cstddef>
#include <span>

#include "dense/matrix.hpp"

// Values of kernel functions of all pairs of rows of two matrices, in a C-ordered table with a row
// for every row of the first and a column for every row of the second.
namespace minimand {

/// A table whose rows may lie apart, as those of a tile of a larger one.
template <class Scalar>
struct Table {
  std::span<Scalar> values;
  std::size_t stride;  // elements from one row to the next
};

/// Replaces inner products v_ij by exp(factor * max(0, r_i + c_j - 2 v_ij)): with the squared
/// lengths r and c of the rows, the bracket is their squared distance. The factor is not positive.
template <class Scalar>
void gaussians(const Table<Scalar>& table, std::span<const double> row_squares,
               std::span<const double> column_squares, double factor);

/// Replaces values v by (c + v)^degree, by repeated squaring; the degree is at least one.
template <class Scalar>
void powers(const Table<Scalar>& table, std::size_t rows, std::size_t columns, double c,
            unsigned degree);

/// Copies the upper triangle of a square matrix onto its lower one.
template <class Scalar>
void mirror_in_parallel(std::span<Scalar> square, std::size_t side);

/// exp(factor * sum_k (x_ik - z_kj)^2) from the differences themselves, so that nothing cancels; z
/// has a column for every row of the second matrix.
template <class Scalar>
void gaussians_of_differences(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z,
                              double factor, std::span<Scalar> table);

/// exp(factor * sum_k |x_ik - z_kj|); z has a column for every row of the second matrix.
template <class Scalar>
void laplacians(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z, double factor,
                std::span<Scalar> table);

/// sum_k |x_ik - z_kj|, or of the squares of the differences, likewise.
template <class Scalar>
void sums_of_differences(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z, bool squared,
                         std::span<Scalar> table);

/// sum_k min(x_ik, z_kj), likewise.
template <class Scalar>
void sums_of_minima(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z,
                    std::span<Scalar> table);

}  // namespace minimand
