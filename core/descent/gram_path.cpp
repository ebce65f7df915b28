#include "descent/gram_path.hpp"

#include <vector>

#include "descent/gap.hpp"
#include "descent/gram_steps.hpp"

namespace minimand {

bool settle_on_gram(const SquaredMean& loss, Penalties penalties, std::span<double> w,
                    std::span<double> gradient, std::span<std::size_t> active, double target,
                    std::int64_t max_epochs);

namespace {

/// The gap on the Gram; the mean of the squares comes from the same gradient.
MINIMAND_INLINE double gap_on_gram(const SquaredMean& loss, std::span<const double> gradient,
                                   std::span<const double> w, Penalties penalties) {
  double square = loss.square;
  for (std::size_t j = 0; j < w.size(); ++j) {
    square += w.data()[j] * (gradient.data()[j] + loss.q.data()[j]);
  }
  return squared_gap(square > 0.0 ? square : 0.0, gradient, w, penalties).gap;
}

/// Row k of the coefficients, to start from: the last two drawn on in a line, without those that
/// would leave the model or change their sign; exact between the kinks of a path.
void forecast(const GramGrid& grid, std::size_t k, std::size_t n) {
  const auto row = [&](std::size_t i) { return grid.coefs.subspan(i * n, n); };
  const auto last = row(k - 1);
  const auto next = row(k);
  double ahead = 0.0;
  if (k >= 2) {
    const double before = grid.alphas[k - 2] - grid.alphas[k - 1];
    ahead = (grid.alphas[k - 1] - grid.alphas[k]) / before;
    if (!(ahead > 0.0 && ahead <= 2.0)) ahead = 0.0;
  }
  for (std::size_t j = 0; j < n; ++j) {
    const double value = ahead > 0.0 ? last[j] + ahead * (last[j] - row(k - 2)[j]) : last[j];
    next[j] = last[j] * value > 0.0 ? value : 0.0;
  }
}

}  // namespace

/// Whether the gap came down to the target; `gradient` and `active` are scratch space.
MINIMAND_CLONES bool settle_on_gram(const SquaredMean& loss, Penalties penalties,
                                    std::span<double> w, std::span<double> gradient,
                                    std::span<std::size_t> active, double target,
                                    std::int64_t max_epochs) {
  constexpr double kTighter = 0.1;
  for (std::size_t j = 0; j < w.size(); ++j) gradient.data()[j] = loss.q.data()[j];
  add_product(loss.gram, w, gradient);
  GramDescent descent{loss.gram, gradient, w, penalties};
  // A small decrease does not prove a small gap, and the gap costs no more than a sweep to ask for.
  double tolerance = target;
  while (!(gap_on_gram(loss, gradient, w, penalties) <= target)) {
    if (max_epochs <= 0) return false;
    const SweepReport report = sweep_until_settled(descent, w, active, {max_epochs, tolerance});
    if (!(report.decrease >= 0.0)) return false;
    max_epochs -= report.epochs;
    tolerance *= kTighter;
  }
  return true;
}

std::size_t descend_gram_path(const SquaredMean& loss, const GramGrid& grid, std::size_t first,
                              double target, std::int64_t max_epochs) {
  const std::size_t n = loss.q.size();
  std::vector<double> gradient(n);
  std::vector<std::size_t> active(n);
  for (std::size_t k = first; k < grid.alphas.size(); ++k) {
    if (k > first) forecast(grid, k, n);
    const Penalties penalties{grid.l1.subspan(k * n, n), grid.l2.subspan(k * n, n)};
    const auto w = grid.coefs.subspan(k * n, n);
    if (!settle_on_gram(loss, penalties, w, gradient, active, target, max_epochs)) return k;
  }
  return grid.alphas.size();
}

MINIMAND_CLONES SquaredGap gap_of_squares(double residual_square, std::span<const double> slope,
                                          std::span<const double> w, Penalties penalties) {
  return squared_gap(residual_square, slope, w, penalties);
}

}  // namespace minimand
