#pragma once

#include <cstdint>

#include "interior/smooth_steps.hpp"

// Newton's steps for the softmax loss of k scores with an l2 penalty. The readable form is
// `solvers/smooth/newton_scores.py`, whose names and formulas these are.
namespace minimand {

/// sum_i mass_i (log sum_c e^{z_ic} - z_iy) + sum l2 W^2 / 2, z = offset + X W + b.
struct ScoresProblem {
  std::span<const std::int64_t> y;     // per row, the number of a class
  std::span<const double> mass;        // per row
  std::span<const double> l2;          // per column and score
  std::span<const double> mean, size;  // per column: its mean, and the mean square around it
  std::size_t k;                       // scores
  bool intercept;                      // whether b is free
  bool formed;                         // whether Hessians may be formed
  std::size_t products;                // most of a step by conjugate gradients; then one is formed
  bool gap;  // whether the goal is the gap that the gradient leaves, else what a step gains
};

/// The model and its scores, which the steps change.
struct ScoresPoint {
  std::span<double> w, b, z;
};

/// Takes steps until the goal is near. Conjugate gradients need a matrix by rows.
template <class Scalar>
SmoothReport score_steps(const DenseMatrix<Scalar>& matrix, const ScoresProblem& problem,
                         const ScoresPoint& point, const SmoothGoal& goal,
                         const SmoothCourse& course);

}  // namespace minimand
