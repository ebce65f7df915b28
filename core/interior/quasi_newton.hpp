#pragma once

#include <cstddef>
#include <span>

#include "dense/matrix.hpp"
#include "interior/smooth_steps.hpp"

// Quasi-Newton steps (L-BFGS) for a smooth loss with an l2 penalty. The first metric is the inverse
// of a Hessian of some rows, so that steps are few; each reads X twice.
namespace minimand {

/// The Hessian of the first metric, in w and in the intercept of centred columns.
struct FirstMetric {
  DenseMatrix<double> inverse;  // of the part of w
  double total;                 // the part of the intercept
};

/// Steps until sum_j g_j^2 / (2 l2_j), a bound of the gap, is at most `goal.near`. `problem.centre`
/// are the means of the columns that the metric belongs to.
template <class Scalar>
SmoothReport quasi_newton(const DenseMatrix<Scalar>& matrix, const SmoothPsi& psi,
                          const SmoothProblem& problem, const FirstMetric& metric,
                          std::span<double> w, double& b, const SmoothGoal& goal,
                          const SmoothCourse& course);

}  // namespace minimand
