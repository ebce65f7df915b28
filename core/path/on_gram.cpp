#include "path/on_gram.hpp"

#include "common/watch.hpp"
#include "path/gap.hpp"
#include "scalar/functions.hpp"
#include "support/minimiser.hpp"

namespace minimand {
namespace {

constexpr double kFarthest = 2.0;  // steps like the last one that a line is drawn on for; safeguard

constexpr std::size_t kPatience =
    8;  // rounds before an active set is tried; safeguard, 2 are usual
constexpr double kShareOfGap = 1e-6;  // that a single column may leave to gain then; safeguard

/// The gap on the Gram; the mean of the squares comes from the same gradient.
MINIMAND_INLINE double gap_here(const SquaredMean& loss, std::span<const double> gradient,
                                std::span<const double> w, Penalties penalties) {
  double square = loss.square;
  const double* const origin = loss.origin.empty() ? nullptr : loss.origin.data();
  for (std::size_t j = 0; j < w.size(); ++j) {
    const double moved = origin != nullptr ? w.data()[j] - origin[j] : w.data()[j];
    square += moved * (gradient.data()[j] + loss.q.data()[j]);
  }
  return squared_gap(square > 0.0 ? square : 0.0, gradient, w, penalties).gap;
}

MINIMAND_CLONES double gap_on_gram(const SquaredMean& loss, std::span<const double> gradient,
                                   std::span<const double> w, Penalties penalties) {
  return gap_here(loss, gradient, w, penalties);
}

/// One step along every coordinate; what they gain.
MINIMAND_CLONES double sweep(const GramView& gram, std::span<double> gradient, std::span<double> w,
                             Penalties penalties) {
  GramDescent descent{gram, gradient, w, penalties};
  double decrease = 0.0;
  for (std::size_t j = 0; j < w.size(); ++j) decrease += descent.step(j);
  return decrease;
}

}  // namespace

double steps_ahead(double before, double last, double alpha) {
  const double ahead = (last - alpha) / (before - last);
  return ahead > 0.0 && ahead <= kFarthest ? ahead : 0.0;
}

void draw_on(std::span<const double> before, std::span<const double> last, double ahead,
             std::span<double> next) {
  for (std::size_t j = 0; j < last.size(); ++j) {
    const double value = ahead > 0.0 ? last[j] + ahead * (last[j] - before[j]) : last[j];
    next[j] = last[j] * value > 0.0 ? value : 0.0;
  }
}

std::size_t PathOnGram::solve(const SquaredMean& loss, const PathGrid& grid, std::size_t first,
                              bool started, PathGoal goal) {
  const std::size_t n = loss.q.size();
  gradient_.resize(n);
  const auto row = [&](std::size_t k) { return grid.coefs.subspan(k * n, n); };
  for (std::size_t k = first; k < grid.alphas.size(); ++k) {
    const auto w = row(k);
    if (k > 0 && !(k == first && started)) {
      const auto before = row(k > 1 ? k - 2 : k - 1);
      const double ahead =
          k > 1 ? steps_ahead(grid.alphas[k - 2], grid.alphas[k - 1], grid.alphas[k]) : 0.0;
      draw_on(before, row(k - 1), ahead, w);
    }
    if (!settle(loss, grid.penalties(k, n), w, goal)) return k;
  }
  return grid.alphas.size();
}

bool PathOnGram::settle(const SquaredMean& loss, Penalties penalties, std::span<double> w,
                        PathGoal goal) {
  find_gradient(loss, w);
  for (std::size_t round = 0;; ++round) {
    if (gap_on_gram(loss, gradient_, w, penalties) <= goal.gap) return true;
    if (round == goal.rounds || stopping()) return false;
    const double decrease = sweep(loss.gram, gradient_, w, penalties);
    if (!(decrease >= 0.0)) return false;  // not a number
    if (gap_on_gram(loss, gradient_, w, penalties) <= goal.gap) return true;
    if (!newton_.step(loss.gram, penalties, w, gradient_)) return false;
    if (round != kPatience) continue;
    settle_on_few(loss, penalties, w, kShareOfGap * goal.gap);
    find_gradient(loss, w);
  }
}

/// gradient_ = q + G(w - origin): where w is the origin, nothing is multiplied.
void PathOnGram::find_gradient(const SquaredMean& loss, std::span<const double> w) {
  moved_.assign(w.begin(), w.end());
  if (!loss.origin.empty()) add_scaled(moved_, -1.0, loss.origin);
  gradient_at(loss.gram, loss.q, moved_, gradient_);
}

void PathOnGram::settle_on_few(const SquaredMean& loss, Penalties penalties, std::span<double> w,
                               double tol) {
  std::vector<double> at_zero(loss.q.begin(), loss.q.end());
  if (!loss.origin.empty()) {
    for (std::size_t j = 0; j < w.size(); ++j) moved_[j] = -loss.origin[j];
    gradient_at(loss.gram, loss.q, moved_, at_zero);
  }
  settle_on_gram(loss.gram, at_zero, w, penalties, tol, newton_);
}

}  // namespace minimand
