#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "dense/matrix.hpp"
#include "interior/smooth_terms.hpp"

// Newton's steps for a smooth loss on few columns, with l2 and l1 penalties. The readable forms are
// `solvers/smooth/newton.py` and `solvers/sparse/working_set.py`, whose names and formulas these
// are.
namespace minimand {

/// sum_i mass_i psi(t_i) + sum_j l1_j |w_j| + l2_j w_j^2 / 2, t = sign * (X w + b) - shift.
struct SmoothProblem {
  std::span<const double> mass, sign, shift;  // per row
  std::span<const double> l2, centre;         // per column
  bool intercept;                             // whether b is free
  std::span<const double> l1 = {};            // per column; empty: none
};

struct SmoothGoal {
  double near;       // the last step promises to gain less
  std::size_t most;  // steps
};

/// Where the steps went. Either may be empty, and is not written then.
struct SmoothCourse {
  std::span<double> primal;  // before and after every step: most + 1 numbers
  std::span<double> models;  // (w, b) after every step, one after the other: most of them

  /// Writes the value, and (w, b) after a step.
  void record(std::size_t step, double value, std::span<const double> w,
              std::span<const double> b) const {
    if (!primal.empty()) primal[step] = value;
    if (models.empty() || step == 0) return;
    const std::size_t size = w.size() + b.size();
    const auto model = models.subspan((step - 1) * size, size);
    std::copy(w.begin(), w.end(), model.begin());
    std::copy(b.begin(), b.end(), model.begin() + static_cast<std::ptrdiff_t>(w.size()));
  }
};

struct SmoothReport {
  std::size_t steps;
  bool done;  // else the steps ended too early: a singular system, no descent, or too many
};

template <class Scalar>
SmoothReport smooth_steps(const DenseMatrix<Scalar>& matrix, const SmoothPsi& psi,
                          const SmoothProblem& problem, std::span<double> w, double& b,
                          const SmoothGoal& goal, const SmoothCourse& course);

}  // namespace minimand
