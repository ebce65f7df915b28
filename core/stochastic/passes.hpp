#pragma once

#include "stochastic/pass.hpp"

namespace minimand {

/// w <- (1 - eta l2) w - eta weight slope x, then towards zero by eta l1, a row at a time.
///
/// w = scale v, so that shrinking touches one number; l1 steps wait until their coefficient is met.
/// Fields: value and lag of every model, seen. The l2 factors must be equal.
template <class V>
struct PlainStep {
  template <bool Sparse>
  using FieldsOf = Fields<Sparse, V, kLag + 1, kSeen + 1>;
  template <class Matrix>
  static void run(const Matrix& matrix, const StochasticPass& pass);
};

/// The same with a rate per coefficient, 1 / (largest |x_j| sqrt(sum of squared slopes)), and the
/// loss followed along its flow, so that a row of weight 2 is the same as the row twice.
/// Fields: value, lag and squares of every model; seen, inverse of the largest |x_j|, fastest rate.
template <class V>
struct AdaptiveStep {
  template <bool Sparse>
  using FieldsOf = Fields<Sparse, V, kSquares + 1, kFastest + 1>;
  template <class Matrix>
  static void run(const Matrix& matrix, const StochasticPass& pass);
};

}  // namespace minimand
