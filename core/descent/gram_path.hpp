#pragma once

#include "descent/gap.hpp"
#include "descent/sweeps.hpp"

namespace minimand {

/// 0.5 w'Gw + q'w + 0.5 square, never negative: a mean of squares. `gram` is symmetric.
struct SquaredMean {
  std::span<const double> gram;
  std::span<const double> q;
  double square;
};

/// One problem per alpha; `l1`, `l2` and `coefs` have a row of q.size() numbers for each.
struct GramGrid {
  std::span<const double> alphas;
  std::span<const double> l1;
  std::span<const double> l2;
  std::span<double> coefs;
};

/// How long to descend at one alpha: sweeps, beside those that so many products pay for.
struct Patience {
  std::int64_t epochs;
  double products;
};

/// Minimises the squared mean + sum l1 |w| + 0.5 sum l2 w^2 at one alpha after the other, from row
/// `first` on, until the duality gap of each is at most `target`.
///
/// Row `first` holds where to start; the next ones start where a line through the last two rows
/// leads. Returns the first row that is not solved: alphas.size(), unless one of them did not
/// settle with that patience. That row then holds the best so far.
std::size_t descend_gram_path(const SquaredMean& loss, const GramGrid& grid, std::size_t first,
                              double target, Patience patience);

struct SquaredModel {
  SquaredGap found;
  double penalty;
};

/// The gap of a model whose residuals have this mean square and this slope, with the scale of its
/// dual point, and what the penalties charge for it.
SquaredModel gap_of_squares(double residual_square, std::span<const double> slope,
                            std::span<const double> w, Penalties penalties);

}  // namespace minimand
