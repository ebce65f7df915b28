#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dense/matrix.hpp"
#include "interior/rises.hpp"

// Mehrotra's predictor-corrector steps for a problem with few columns. The readable form is
// `solvers/kinked/interior.py` with `central_path.py`, whose names and formulas these are.
namespace minimand {

/// sum_i mass_i psi(t_i) + pull.(w, b) + Omega(w), t = sign * (offset + X w + b) - shift.
struct InteriorProblem {
  std::span<const double> mass, sign;                // per row
  std::span<const double> l2, spread, centre, pull;  // per column
  std::span<const std::uint8_t> pinned;              // columns whose two bounds are equal
  double pull_b;
  bool intercept;
  bool all_lines;  // primal and dual steps have lengths of their own
  RiserForm samples, features;
};

/// The point that moves; the arrays of pairs are those of `Rises`.
struct InteriorPoint {
  std::span<double> w, t;
  double b;
  std::span<double> sample_dual, sample_primal, feature_dual, feature_primal;
};

/// When to end.
struct WalkGoal {
  double near;           // products
  double far;            // products
  std::size_t most;      // steps
  std::size_t patience;  // steps in which the products must halve
  double centred;        // least share of the products that a step aims at if they do not fall
};

/// How the products have fallen so far, over several walks.
struct WalkCourse {
  double least;        // products
  std::size_t waited;  // steps since they were halved
  double unmet_dual, unmet_primal;
};

struct WalkReport {
  std::size_t steps;
  double length;  // of the last step
  double products;
  bool stuck;
  bool singular;  // Newton's equations could not be solved: the last step was not taken
};

template <class Scalar>
WalkReport walk_inside(const DenseMatrix<Scalar>& matrix, const InteriorProblem& problem,
                       InteriorPoint& point, const WalkGoal& goal, WalkCourse& course);

}  // namespace minimand
