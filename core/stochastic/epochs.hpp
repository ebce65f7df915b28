#pragma once

#include <cmath>

#include "stochastic/pass.hpp"
#include "stochastic/shuffle.hpp"

namespace minimand {

/// When passes over all rows end: after `patience` of them in a row that lower the mean of what
/// rows pay by less than `tol`, or after `most`.
struct EpochRule {
  std::uint32_t seed;
  bool shuffle;
  double tol;
  std::size_t patience;
  std::size_t most;
};

/// How passes have gone on so far.
struct EpochCourse {
  std::size_t done;
  double best;
  std::size_t waited;
  bool finite;  // whether the model is
};

/// The coefficients v of one model, `stride` apart.
struct Coefficients {
  std::span<const double> fields;
  std::size_t features;
  std::size_t stride;

  bool finite() const {
    double nothing = 0.0;
    for (std::size_t j = 0; j < features; ++j) nothing += 0.0 * fields[j * stride];
    return nothing == 0.0;
  }
};

/// Passes of one model over the rows in `order`, which is shuffled again before each of them.
template <class Step, class Matrix>
EpochCourse run_epochs(const Matrix& matrix, const StochasticPass& pass, Coefficients v,
                       std::span<std::uint32_t> order, const EpochRule& rule, EpochCourse course) {
  const StochasticScalars<double> scalars{pass.scalars.data()};
  const double rows = order.empty() ? 1.0 : static_cast<double>(order.size());
  for (std::size_t epoch = 0; epoch < rule.most; ++epoch) {
    if (rule.shuffle) shuffle_rows(order, rule.seed);
    Step::run(matrix, pass);
    ++course.done;
    double value = *scalars.at(3) / rows;
    *scalars.at(3) = 0.0;
    course.finite = v.finite() && std::isfinite(scalars.b());
    if (!course.finite) return course;
    if (!std::isfinite(value)) value = std::numeric_limits<double>::infinity();
    course.waited = value > course.best - rule.tol ? course.waited + 1 : 0;
    course.best = value < course.best ? value : course.best;
    if (course.waited >= rule.patience) return course;
  }
  return course;
}

}  // namespace minimand
