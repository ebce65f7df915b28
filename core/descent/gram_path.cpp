#include "descent/gram_path.hpp"

#include <cmath>
#include <vector>

#include "descent/gram_steps.hpp"

namespace minimand {

bool settle_on_gram(const SquaredMean& loss, Penalties penalties, std::span<double> w,
                    std::span<double> gradient, std::span<std::size_t> active, double target,
                    std::int64_t max_epochs);

namespace {

/// The largest s <= 1 with s |gradient| <= l1: where there is no l2, or wherever there is an l1.
MINIMAND_INLINE double shrinkage(std::span<const double> gradient, Penalties penalties,
                                 bool only_without_l2) {
  double least = 1.0;
  for (std::size_t j = 0; j < gradient.size(); ++j) {
    const double l1 = penalties.l1.data()[j];
    const double size = std::fabs(gradient.data()[j]);
    const bool limits = only_without_l2 ? !(penalties.l2.data()[j] > 0.0) : l1 > 0.0;
    if (limits && least * size > l1) least = l1 / size;
  }
  return least;
}

/// The gap at w for s times the residuals as dual point, by Fenchel-Young terms.
///
/// The samples add half the mean of (r - s r)^2. With v = -s gradient and c = soft(v, l1), a
/// feature adds (c - l2 w)^2 / (2 l2) + (l1 |w| - (v - c) w).
MINIMAND_INLINE double gap_at(double s, double residual_square, std::span<const double> gradient,
                              std::span<const double> w, Penalties penalties) {
  double gap = 0.5 * (1.0 - s) * (1.0 - s) * residual_square;
  for (std::size_t j = 0; j < w.size(); ++j) {
    const double l1 = penalties.l1.data()[j];
    const double l2 = penalties.l2.data()[j];
    const double value = w.data()[j];
    const double v = -s * gradient.data()[j];
    const double excess = std::fabs(v) - l1;
    const double c = excess > 0.0 ? std::copysign(excess, v) : 0.0;
    const double rest = c - l2 * value;
    if (l2 > 0.0) gap += 0.5 * rest * rest / l2;
    const double linear = l1 * std::fabs(value) - (v - c) * value;
    if (linear > 0.0) gap += linear;
  }
  return gap;
}

/// The smaller gap of two dual points, as the referee measures it.
MINIMAND_INLINE double gap_on_gram(const SquaredMean& loss, std::span<const double> gradient,
                                   std::span<const double> w, Penalties penalties) {
  double square = loss.square;
  for (std::size_t j = 0; j < w.size(); ++j) {
    square += w.data()[j] * (gradient.data()[j] + loss.q.data()[j]);
  }
  if (!(square > 0.0)) square = 0.0;
  const double needed = shrinkage(gradient, penalties, true);
  const double boxed = shrinkage(gradient, penalties, false);
  const double gap = gap_at(needed, square, gradient, w, penalties);
  if (boxed == needed) return gap;
  const double other = gap_at(boxed, square, gradient, w, penalties);
  return other < gap ? other : gap;
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

}  // namespace minimand
