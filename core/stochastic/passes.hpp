#pragma once

#include "stochastic/pass.hpp"

namespace minimand {

/// w <- (1 - eta l2) w - eta weight slope x, then towards zero by what is left of the l1 penalty:
/// the sum of all eta l1 so far, minus the part that the coefficient has received. The part of a
/// step that is cut off at zero is taken later, so that single rows do not make a useless
/// coefficient nonzero again.
///
/// w = scale v, so that shrinking changes one number; l1 steps wait for the next entry of a column.
/// The l2 factors must be equal.
template <class V>
struct PlainStep {
  using Counts = PlainCounts;
  template <class Matrix>
  static void run(const Matrix& matrix, const StochasticPass& pass);
};

/// The same with a rate per coefficient, 1 / (largest |x_j| sqrt(sum of squared slopes)), and the
/// loss followed along its flow, so that a row of weight 2 is the same as the row twice.
/// Fields: value, lag and squares of every model; seen, inverse of the largest |x_j|, fastest rate.
template <class V>
struct AdaptiveStep {
  using Counts = AdaptiveCounts;
  template <class Matrix>
  static void run(const Matrix& matrix, const StochasticPass& pass);
};

/// Perceptron and passive-aggressive steps: where the loss of a row has a slope, w and b move
/// against it by tau weight (x, share), where tau is
///   eta (perceptron),   min(eta, loss / |x|^2) (PA-I),   loss / (|x|^2 + 1 / (2 eta)) (PA-II).
/// The loss must be linear between its knots, with slopes of -1, 0 or 1. Fields: value, lag, and
/// what an l1 penalty has taken.
template <class V>
struct OnlineStep {
  using Counts = OnlineCounts;
  template <class Matrix>
  static void run(const Matrix& matrix, const StochasticPass& pass);
};

}  // namespace minimand
