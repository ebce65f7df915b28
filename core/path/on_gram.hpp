#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "descent/gram_steps.hpp"
#include "support/newton.hpp"

namespace minimand {

/// 0.5 v'Gv + q'v + 0.5 square with v = w - origin, never negative: a mean of squares.
struct SquaredMean {
  GramView gram;
  std::span<const double> q;
  double square;
  std::span<const double> origin = {};  // empty: zero
};

/// One problem per alpha; `l1`, `l2` and `coefs` have a row of q.size() numbers for each.
struct PathGrid {
  std::span<const double> alphas;
  std::span<const double> l1;
  std::span<const double> l2;
  std::span<double> coefs;

  Penalties penalties(std::size_t row, std::size_t n) const {
    return {l1.subspan(row * n, n), l2.subspan(row * n, n)};
  }
};

/// What to reach at every alpha, and in how many rounds of a sweep and a Newton step at most.
struct PathGoal {
  double gap;
  std::size_t rounds;
};

/// A line through two models, `ahead` times as far beyond the last as that is from the one before;
/// coefficients that would leave the model or change their sign are zero. Exact between the kinks
/// of a path of the squared loss.
void draw_on(std::span<const double> before, std::span<const double> last, double ahead,
             std::span<double> next);

/// How often the last step from one alpha to the next must be repeated to get to `alpha`; zero
/// where that is no step onwards, or too far to draw a line.
double steps_ahead(double before, double last, double alpha);

/// Minimisers of the squared mean + sum l1 |w| + 0.5 sum l2 w^2 along a path, on a Gram that may
/// grow between calls; the factor of the support is kept from one call to the next.
class PathOnGram {
 public:
  /// Solves one row of the grid after the other, from row `first` on, until the duality gap of
  /// each is at most the goal. Rows before it hold models of the path; row `first` holds where to
  /// start if `started`, and else begins where a line through the last two rows leads, as all
  /// further ones do. Returns the first row that is not solved: as many as there are alphas, unless
  /// one of them did not settle. That row then holds the best so far.
  std::size_t solve(const SquaredMean& loss, const PathGrid& grid, std::size_t first, bool started,
                    PathGoal goal);

  /// To be called when the Gram is not the same one with more columns.
  void forget() { newton_.forget(); }

 private:
  bool settle(const SquaredMean& loss, Penalties penalties, std::span<double> w, PathGoal goal);
  void find_gradient(const SquaredMean& loss, std::span<const double> w);
  void settle_on_few(const SquaredMean& loss, Penalties penalties, std::span<double> w, double tol);

  SupportNewton newton_;
  std::vector<double> gradient_, moved_;
};

}  // namespace minimand
