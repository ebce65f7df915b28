#pragma once

#include <cstdint>
#include <span>

#include "dense/matrix.hpp"
#include "sparse/compressed.hpp"

namespace minimand {

/// The length of a row's step: `rate`, or that of passive-aggressive learning.
enum class Step : std::int64_t { constant, pa1, pa2 };

/// The update by one row. z = x w + b is its score, and the loss is
///   max(0, threshold - y z),   or for numbers   max(0, |y - z| - threshold).
/// Where the loss has a slope, w += step * direction * x and b += share * step * direction.
struct OnlineRule {
  Step step;
  bool numbers;
  double threshold;
  double rate;   // the constant step, or the C of passive-aggressive ones
  double ridge;  // the penalty is ridge |w|^2 / 2 + lasso |w|_1
  double lasso;
  double share;          // of a step that the intercept takes; 0 where there is none
  std::int64_t average;  // the step with which averaging begins; 0 for never
};

struct OnlineRows {
  std::span<const double> y;
  std::span<const double> weight;
  std::span<const std::uint32_t> order;
};

/// What a pass changes. The mean of the models after K steps is w - drift / K: step k, which moves
/// the model by u x, adds (k - 1) u x to drift.
struct OnlineState {
  std::span<double> w;
  std::span<double> drift;  // empty where there is no averaging
  std::span<double> taken;  // by the l1 norm, from every weight; empty where there is none
  std::span<double> moves;  // how often every row moved the model
  double b;
  double b_drift;
  double time;  // 1 + rows so far
  double owed;  // the sum of all l1 steps so far, for a weight that is updated by every row
};

struct OnlineReport {
  double b;
  double b_drift;
  double time;
  double owed;
  double objective;  // sum of losses and penalties of the rows, each before its step
  std::int64_t moves;
};

/// One pass over rows in the given order.
template <class Scalar, class Index>
OnlineReport online_pass(const Compressed<Scalar, Index>& matrix, const OnlineRule& rule,
                         const OnlineRows& rows, OnlineState state);

template <class Scalar>
OnlineReport online_pass(const DenseMatrix<Scalar>& matrix, const OnlineRule& rule,
                         const OnlineRows& rows, OnlineState state);

}  // namespace minimand
