#include "descent/gram_path.hpp"

#include <algorithm>
#include <vector>

#include "common/watch.hpp"
#include "descent/gap.hpp"
#include "descent/gram_steps.hpp"
#include "scalar/separable.hpp"

namespace minimand {

bool settle_on_gram(const SquaredMean& loss, Penalties penalties, std::span<double> w,
                    std::span<double> gradient, std::vector<double>& memory,
                    std::span<std::size_t> active, double target, Patience patience);

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

/// Some coordinates of a descent with a Gram of their own, the others being held.
class Gathered {
 public:
  /// `memory` has room for a Gram of these coordinates and four numbers for each.
  MINIMAND_INLINE Gathered(const GramDescent& whole, std::span<const std::size_t> chosen,
                           std::span<double> memory)
      : chosen_(chosen) {
    const std::size_t count = chosen.size(), n = whole.w.size();
    std::span<double> rest = memory;
    gram_ = taken(rest, count * count);
    gradient_ = taken(rest, count);
    w_ = taken(rest, count);
    const auto l1 = taken(rest, count), l2 = taken(rest, count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t j = chosen.data()[i];
      const double* row = whole.gram.data() + j * n;
      double* to = gram_.data() + i * count;
      for (std::size_t k = 0; k < count; ++k) to[k] = row[chosen.data()[k]];
      gradient_.data()[i] = whole.gradient.data()[j];
      w_.data()[i] = whole.w.data()[j];
      l1.data()[i] = whole.penalties.l1.data()[j];
      l2.data()[i] = whole.penalties.l2.data()[j];
    }
    penalties_ = {l1, l2};
  }

  /// One step along each of them; what they gain.
  MINIMAND_INLINE double sweep() {
    GramDescent descent{gram_, gradient_, w_, penalties_};
    double decrease = 0.0;
    for (std::size_t i = 0; i < w_.size(); ++i) decrease += descent.step(i);
    return decrease;
  }

  /// The moves, for all coordinates to see.
  MINIMAND_INLINE void put_back(GramDescent& whole) const {
    for (std::size_t i = 0; i < w_.size(); ++i) {
      const std::size_t j = chosen_.data()[i];
      const double delta = w_.data()[i] - whole.w.data()[j];
      if (delta == 0.0) continue;
      whole.w.data()[j] = w_.data()[i];
      add_row(whole.gram, j, delta, whole.gradient);
    }
  }

 private:
  MINIMAND_INLINE static std::span<double> taken(std::span<double>& memory, std::size_t count) {
    const auto part = memory.first(count);
    memory = memory.subspan(count);
    return part;
  }

  std::span<const std::size_t> chosen_;
  std::span<double> gram_;
  std::span<double> gradient_;
  std::span<double> w_;
  Penalties penalties_;
};

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

/// Whether the gap came down to the target.
///
/// Between sweeps over all coordinates, those that are not zero are descended by themselves, on
/// their own Gram: a step then costs as many products as there are of them.
MINIMAND_CLONES bool settle_on_gram(const SquaredMean& loss, Penalties penalties,
                                    std::span<double> w, std::span<double> gradient,
                                    std::vector<double>& memory, std::span<std::size_t> active,
                                    double target, Patience patience) {
  // An inner decrease this much smaller than the full sweep's says: look at the zeros again.
  constexpr double kInnerReduction = 1e-2;
  // Products of a Newton step, per cube of the nonzeros: sweeps for less than that come first.
  constexpr double kNewtonStep = 0.125;
  const std::size_t n = w.size();
  bool first = true;
  for (std::size_t j = 0; j < n; ++j) gradient.data()[j] = loss.q.data()[j];
  add_product(loss.gram, w, gradient);
  GramDescent descent{loss.gram, gradient, w, penalties};
  while (!(gap_on_gram(loss, gradient, w, penalties) <= target)) {
    if (patience.epochs <= 0 || stopping()) return false;
    double decrease = 0.0;
    for (std::size_t j = 0; j < n; ++j) decrease += descent.step(j);
    if (!(decrease >= 0.0)) return false;
    --patience.epochs;
    std::size_t count = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (w.data()[j] != 0.0) active.data()[count++] = j;
    }
    if (memory.size() < count * (count + 4)) memory.resize(count * (count + 4));
    Gathered inner(descent, active.first(count), memory);
    double gained = decrease;
    const double products = static_cast<double>(count) * static_cast<double>(count);
    if (first) {
      patience.products =
          std::max(patience.products, kNewtonStep * products * static_cast<double>(count));
    }
    first = false;
    while (gained > kInnerReduction * decrease && patience.epochs > 0) {
      gained = inner.sweep();
      patience.products -= products;
      if (stopping()) break;
      if (!(patience.products > 0.0)) --patience.epochs;
    }
    inner.put_back(descent);
  }
  return true;
}

std::size_t descend_gram_path(const SquaredMean& loss, const GramGrid& grid, std::size_t first,
                              double target, Patience patience) {
  const std::size_t n = loss.q.size();
  std::vector<double> gradient(n), memory;
  std::vector<std::size_t> active(n);
  for (std::size_t k = first; k < grid.alphas.size(); ++k) {
    if (k > first) forecast(grid, k, n);
    const Penalties penalties{grid.l1.subspan(k * n, n), grid.l2.subspan(k * n, n)};
    const auto w = grid.coefs.subspan(k * n, n);
    if (!settle_on_gram(loss, penalties, w, gradient, memory, active, target, patience)) {
      return k;
    }
  }
  return grid.alphas.size();
}

MINIMAND_CLONES SquaredModel gap_of_squares(double residual_square, std::span<const double> slope,
                                            std::span<const double> w, Penalties penalties) {
  return {squared_gap(residual_square, slope, w, penalties),
          separable_value({penalties.l1, penalties.l2}, w)};
}

}  // namespace minimand
