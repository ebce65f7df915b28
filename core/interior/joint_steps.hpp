#pragma once

#include <cstddef>
#include <span>

#include "dense/matrix.hpp"

// Newton's steps for the coefficients, the intercept and the scale of the Huber loss together, on
// few columns. The readable form is `solvers/nested/joint_newton.py`, whose names and formulas
// these are.
namespace minimand {

/// F = s + sum_i mass_i s H(r_i / s) + sum_j c_j w_j^2, r = z - y, z = offset + X w + b.
struct JointProblem {
  std::span<const double> y, target, mass;  // per row; the target is y without the offset
  std::span<const double> c, centre;        // per column; without columns, w is fixed
  double epsilon;                           // H(t) = t^2 up to it, linear beyond
  bool intercept;                           // whether b is free
};

struct JointPlace {
  std::span<double> w, z;
  std::span<double> theta;  // the multipliers that the last step aimed at
  double b, sigma, value;
};

struct JointReport {
  std::size_t steps = 0;
  bool settled = false;   // Newton's equations promise nothing more than rounding
  bool near = false;      // a bound says that F is near its minimum
  bool aimed = false;     // there are multipliers
  bool singular = false;  // the steps ended at a singular system
};

/// Steps until F is within `near` of its minimum, or none lowers it; F never rises.
template <class Scalar>
JointReport joint_steps(const DenseMatrix<Scalar>& matrix, const JointProblem& problem,
                        JointPlace& place, double near, std::size_t most);

}  // namespace minimand
