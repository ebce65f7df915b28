#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dense/matrix.hpp"
#include "scores/sparse.hpp"

namespace minimand {

/// The same as `simplex_product`, over the rows of a C-ordered matrix.
template <class T, class Scalar>
void dense_simplex_product(const DenseMatrix<Scalar>& rows, std::span<const double> v,
                           std::size_t width, Simplex curvature, std::span<double> g);

/// Numbers of every line that are not zero.
template <class Scalar>
void count_nonzeros(const DenseMatrix<Scalar>& matrix, std::span<std::int64_t> counts);

/// Their positions and values, line after line; line i begins at starts[i].
template <class Scalar>
void copy_nonzeros(const DenseMatrix<Scalar>& matrix, std::span<const std::int32_t> starts,
                   std::span<std::int32_t> positions, std::span<Scalar> values);

}  // namespace minimand
