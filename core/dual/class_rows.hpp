#pragma once

#include <cstdint>
#include <span>

#include "dense/matrix.hpp"
#include "sparse/compressed.hpp"

namespace minimand {

/// The dual of sum_i mass_i loss(z_i, y_i) + sum_j l2_j |W_j|^2 / 2 + |b - centre|^2 / (2 bias),
/// where z = offset + X W + b has k scores per row and the loss is an ordered sum of class margins
/// (see class_margins.hpp). One vector u_i per row gives
///   W_j = -inverse_j sum_i mass_i x_ij u_i,   b = centre - bias sum_i mass_i u_i.
struct ClassProblem {
  std::span<const std::int64_t> y;
  std::span<const double> cost;     // k x k: of class c where y is right
  std::span<const double> weights;  // of the margins in decreasing order, k - 1 of them
  std::span<const double> offset;   // n x k, or empty
  std::span<const double> mass;
  std::span<const double> squares;  // sum_j inverse_j x_ij^2 of every row
  std::span<const double> inverse;  // 1 / l2_j; one number if they are all equal
  bool intercept;
  double reach;  // typical size of a margin, for the cost of sum_i mass_i u_i != 0
};

/// What a run changes: u (n x k), W (d x k) and b (k), and the state that is kept for the next run.
/// `mean` (n x k) follows u with a lag: the primal loss of a single u goes up and down while the
/// dual settles, and that of a mean of several is lower.
struct ClassState {
  std::span<double> u;
  std::span<double> mean;
  std::span<double> w;
  std::span<double> b;
  std::span<std::uint32_t> order;  // all rows, those that are not skipped first
  double bias;                     // the step of the intercepts; 0 without them
  std::int64_t active;             // how many rows are not skipped
  double threshold;                // a row is skipped if its margins have more room than this
};

struct ClassReport {
  double bias;
  std::int64_t active;
  double threshold;
  double sweeps;  // over all rows; a sweep over half of them counts as one half
  double gap;     // the terms of the gap that the last sweep met, added up: an estimate
};

/// Coordinate ascent over rows in random order, skipping those that stay where they are. The
/// problem of a row is solved exactly.
template <class Matrix>
ClassReport ascend_classes(const Matrix& matrix, const ClassProblem& problem, ClassState state,
                           std::int64_t epochs, double tolerance, std::uint64_t seed);

/// For every row the multipliers nearest to those given.
void project_classes(std::span<const double> u, std::span<const std::int64_t> y,
                     std::span<const double> weights, std::span<double> result);

}  // namespace minimand
