#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dense/matrix.hpp"
#include "path/older_gram.hpp"
#include "path/on_gram.hpp"

namespace minimand {

/// The mean, by these masses, of log(1 + e^(-y z)), z = offset + Xw + b; y = +-1. The constant b is
/// zero, or free.
struct LogisticRows {
  std::span<const double> mass;
  std::span<const double> y;
  std::span<const double> offset;  // empty: zero
  bool free_constant;
};

/// What to reach at every alpha: an estimate of the gap on these columns. A quadratic model is
/// solved to a gap of its own; `scale` is that of the objective.
struct CurveGoal {
  double gap;
  double model_gap;
  double scale;
  std::size_t steps;   // with one Gram
  std::size_t rounds;  // of a model
};

/// Minimisers of the mean logistic loss + sum l1 |w| + 0.5 sum l2 w^2 along a path, on few columns:
/// quadratic models with an older curvature and the slopes of where the model is, each followed by
/// a line search on the scores. The Gram of that curvature is kept from one call to the next; it
/// has only columns in the model, or with slopes that reach their bound.
class PathOnCurves {
 public:
  /// As PathOnGram::solve: one row of the grid after the other, from row `first` on. Returns the
  /// first row that is not settled, which then holds the best so far.
  template <class Scalar>
  std::size_t solve(const DenseMatrix<Scalar>& matrix, const LogisticRows& rows,
                    const OlderCurvature& older, const PathGrid& grid, std::size_t first,
                    bool started, const CurveGoal& goal);

  /// To be called when the older curvatures are others.
  void forget();

 private:
  template <class Scalar>
  bool settle(const DenseMatrix<Scalar>& matrix, const LogisticRows& rows,
              const OlderCurvature& older, Penalties penalties, std::span<double> w,
              const CurveGoal& goal);
  template <class Scalar>
  void enter_reached(const DenseMatrix<Scalar>& matrix, const OlderCurvature& older,
                     Penalties penalties, std::span<const double> w);
  bool minimise_model(Penalties penalties, std::span<const double> w, double grown,
                      const CurveGoal& goal);
  double derivatives(const LogisticRows& rows, std::span<const double> z);
  bool centre(const LogisticRows& rows);
  double slope_at(const LogisticRows& rows, Penalties penalties, std::span<const double> w,
                  double t);
  bool falls(const LogisticRows& rows, Penalties penalties, std::span<const double> w, double t);
  double line_search(const LogisticRows& rows, Penalties penalties, std::span<const double> w);

  PathOnGram model_;
  OlderGram gram_;
  std::vector<double> z_, moved_, along_, gradient_, curvature_, value_;  // by row
  std::vector<double> slope_, new_, step_;                                // by column
  std::vector<double> start_, linear_, found_, l1_, l2_;                  // by column of the Gram
  std::vector<std::size_t> reached_;
};

}  // namespace minimand
