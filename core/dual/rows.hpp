#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "dense/matrix.hpp"
#include "scalar/pieces.hpp"
#include "scalar/softplus.hpp"
#include "sparse/compressed.hpp"

namespace minimand {

/// The losses psi of a row.
using DualPsi = std::variant<Pieces, Softplus>;

/// The dual of sum_i mass_i psi(t_i) + sum_j l2_j w_j^2 / 2 + (b - centre)^2 / (2 bias), where
/// t = sign (X w + b) - shift. One number v_i per row, a slope of psi, gives
///   w_j = -inverse_j sum_i mass_i sign_i v_i x_ij,   b = centre - bias sum_i mass_i sign_i v_i.
struct DualProblem {
  std::span<const double> sign;
  std::span<const double> shift;
  std::span<const double> mass;
  std::span<const double> squares;  // sum_j inverse_j x_ij^2 of every row
  std::span<const double> inverse;  // 1 / l2_j; one number if they are all equal
  bool intercept;
  double reach;  // typical distance of a t_i from a knot, for the cost of total != 0
};

/// What a run changes: the slopes, w and b, and the state that is kept for the next run.
struct DualState {
  std::span<double> v;
  std::span<double> w;
  std::span<std::uint32_t> order;  // all rows, those that are not skipped first
  double b;
  double bias;          // the step of the intercept; 0 without one
  std::int64_t active;  // how many of them are not skipped
  double threshold;     // a row is skipped if its t is farther than this from a knot
};

struct DualReport {
  double b;
  double bias;
  std::int64_t active;
  double threshold;
  double sweeps;  // over all rows; a sweep over half of them counts as one half
  double gap;     // the terms of the gap that the last sweep met, added up: an estimate
};

/// Coordinate ascent over rows in random order, skipping those that stay where they are.
template <class Scalar, class Index>
DualReport ascend_rows(const Compressed<Scalar, Index>& matrix, const DualPsi& psi,
                       const DualProblem& problem, DualState state, std::int64_t epochs,
                       double tolerance, std::uint64_t seed);

template <class Scalar>
DualReport ascend_rows(const DenseMatrix<Scalar>& matrix, const DualPsi& psi,
                       const DualProblem& problem, DualState state, std::int64_t epochs,
                       double tolerance, std::uint64_t seed);

/// sum_j inverse_j x_ij^2 of every row.
template <class Scalar, class Index>
void row_squares(const Compressed<Scalar, Index>& matrix, std::span<const double> inverse,
                 std::span<double> result);
template <class Scalar>
void row_squares(const DenseMatrix<Scalar>& matrix, std::span<const double> inverse,
                 std::span<double> result);

}  // namespace minimand
