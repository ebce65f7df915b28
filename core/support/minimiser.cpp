#include "support/minimiser.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "common/watch.hpp"
#include "descent/gram.hpp"
#include "scalar/separable.hpp"
#include "support/newton.hpp"

namespace minimand {
namespace {

// All of these are safeguards.
constexpr std::int64_t kSweeps = 20;        // between two Newton steps
constexpr int kRounds = 50;                 // of sweeps and a Newton step
constexpr int kPatience = 3;                // rounds before an active set takes over
constexpr std::size_t kMostColumns = 300;   // of an active set, which takes a step per column
constexpr std::size_t kStepsPerColumn = 4;  // of an active set

/// The problem, its gradient where it was asked for last, and the factor of its support.
class OnGram {
 public:
  OnGram(const GramView& gram, std::span<const double> q, Penalties penalties,
         SupportNewton& newton)
      : gram_(gram), q_(q), penalties_(penalties), gradient_(q.size()), newton_(newton) {}

  bool newton(std::span<double> w) {
    gradient_at(gram_, q_, w, gradient_);
    return newton_.step(gram_, penalties_, w, gradient_);
  }

  void settle(std::span<double> w, double tol) {
    const std::size_t n = w.size();
    std::vector<char> support(n);
    double last = std::numeric_limits<double>::infinity();
    for (std::size_t step = 0; step < kStepsPerColumn * n + 10; ++step) {
      for (std::size_t j = 0; j < n; ++j) support[j] = is_free(penalties_, j, w[j]);
      newton(w);
      bool same = true;
      for (std::size_t j = 0; j < n; ++j) same &= support[j] == is_free(penalties_, j, w[j]);
      if (!same) continue;  // a column has left the support: the others move again
      const auto [best, target, gain] = best_coordinate(w);
      const double value = value_at(w);
      if (!(gain > tol) || !(value < last) || stopping()) return;
      w[best] = target;
      last = value;
    }
  }

 private:
  struct Move {
    std::size_t column;
    double target;
    double gain;  // what the coefficient gains by itself, 0.5 c (target - w)^2
  };

  Move best_coordinate(std::span<const double> w) {
    gradient_at(gram_, q_, w, gradient_);
    Move best{0, 0.0, 0.0};
    for (std::size_t j = 0; j < w.size(); ++j) {
      const double curvature = gram_.diagonal(j), l2 = penalties_.l2[j];
      if (!(curvature > 0.0)) continue;
      const double target = penalties_.clipped(
          j, coordinate_minimiser(w[j], gradient_[j], curvature, penalties_.l1[j], l2));
      const double gain = 0.5 * (curvature + l2) * (target - w[j]) * (target - w[j]);
      if (gain > best.gain) best = {j, target, gain};
    }
    return best;
  }

  /// The objective, where the gradient is known.
  double value_at(std::span<const double> w) const {
    double value = separable_value({penalties_.l1, penalties_.l2}, w);
    for (std::size_t j = 0; j < w.size(); ++j) value += 0.5 * w[j] * (gradient_[j] + q_[j]);
    return value;
  }

  GramView gram_;
  std::span<const double> q_;
  Penalties penalties_;
  std::vector<double> gradient_;
  SupportNewton& newton_;
};

}  // namespace

void settle_on_gram(const GramView& gram, std::span<const double> q, std::span<double> w,
                    Penalties penalties, double tol, SupportNewton& newton) {
  if (w.size() <= kMostColumns) OnGram(gram, q, penalties, newton).settle(w, tol);
}

void minimise_on_gram(const GramView& gram, std::span<const double> q, std::span<double> w,
                      Penalties penalties, double tol) {
  SupportNewton newton;
  OnGram model(gram, q, penalties, newton);
  const bool few = w.size() <= kMostColumns;
  for (int round = 0; round < kRounds; ++round) {
    const SweepReport done = descend_gram(gram, q, w, penalties, {kSweeps, tol});
    if (!(done.decrease > tol) || stopping() || (few && round >= kPatience)) break;
    model.newton(w);
  }
  if (few) {
    model.settle(w, tol);
  } else {
    model.newton(w);
  }
}

}  // namespace minimand
