#pragma once

#include "dense/matrix.hpp"

namespace minimand {

/// z = Xw for `width` interleaved vectors.
template <class Scalar>
void dense_matvec(const DenseMatrix<Scalar>& matrix, std::span<const double> w, std::size_t width,
                  std::span<double> z);

/// v = X'u for `width` interleaved vectors.
template <class Scalar>
void dense_rmatvec(const DenseMatrix<Scalar>& matrix, std::span<const double> u, std::size_t width,
                   std::span<double> v);

}  // namespace minimand
