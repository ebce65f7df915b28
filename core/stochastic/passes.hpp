#pragma once

#include <span>

#include "stochastic/rows.hpp"

namespace minimand {

/// w <- (1 - eta l2) w - eta weight slope x, then towards zero by eta l1, a row at a time.
///
/// w = scale v, so that shrinking touches one number; l1 steps wait until their coefficient is met.
/// Fields: value, lag, seen. The l2 factors must be equal.
template <class Scalar, class Index>
void plain_pass(const Compressed<Scalar, Index>& matrix, const StochasticPass& pass);
template <class Scalar>
void plain_pass(const DenseMatrix<Scalar>& matrix, const StochasticPass& pass);

/// The same with a rate per coefficient, 1 / (largest |x_j| sqrt(sum of squared slopes)), and the
/// loss followed along its flow, so that a row of weight 2 is the same as the row twice.
/// Fields: value, lag, seen, squares, rate, inverse of the largest |x_j|.
template <class Scalar, class Index>
void adaptive_pass(const Compressed<Scalar, Index>& matrix, const StochasticPass& pass);
template <class Scalar>
void adaptive_pass(const DenseMatrix<Scalar>& matrix, const StochasticPass& pass);

}  // namespace minimand
