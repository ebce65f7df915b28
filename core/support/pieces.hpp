#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "descent/sweeps.hpp"

// What a step on the support is. Near coefficients that are neither zero nor at a bound,
// sum l1 |w| + 0.5 sum l2 w^2 is a quadratic. Added to another one, its minimiser is the solution
// of a linear system, however that is solved; the step ends where that quadratic ends.
namespace minimand {

/// Coefficients that are neither zero (unless their l1 is) nor at a bound, one number for each.
struct Support {
  std::span<const double> w;
  std::span<const double> slope;  // of the quadratic, without the penalties
  Penalties penalties;

  /// The slope of quadratic and penalties together.
  double full_slope(std::size_t i) const {
    const double sign = static_cast<double>((w[i] > 0.0) - (w[i] < 0.0));
    return slope[i] + penalties.l2[i] * w[i] + penalties.l1[i] * sign;
  }

  double charge(std::size_t i, double value) const {
    return penalties.l1[i] * std::fabs(value) + 0.5 * penalties.l2[i] * value * value;
  }

  /// Where the penalty stops being the same quadratic along a step: at zero, or at a bound.
  double end(std::size_t i, double step) const {
    double end = std::copysign(std::numeric_limits<double>::infinity(), step);
    if (penalties.l1[i] > 0.0 && w[i] * step < 0.0) end = 0.0;
    if (penalties.lo.empty()) return end;
    return step < 0.0 ? std::max(end, penalties.lo[i]) : std::min(end, penalties.hi[i]);
  }
};

/// Whether a coefficient belongs to the support.
MINIMAND_INLINE bool is_free(Penalties penalties, std::size_t j, double value) {
  if (value == 0.0 && penalties.l1.data()[j] != 0.0) return false;
  return penalties.lo.empty() || (value > penalties.lo.data()[j] && value < penalties.hi.data()[j]);
}

/// Goes along a step that minimises the quadratic on the support, or decreases it all along.
///
/// Coefficients that would pass an end of their piece stay there, if the objective falls all the
/// same; else half of the step is tried. The part of the step before the first end needs no trial:
/// everything is quadratic there. `bend(move)` is move' H move, H the matrix of the quadratic
/// without l2; `targets` is where the coefficients go, and `move` how far. False: not finite.
template <class Bend>
bool go_along(const Support& support, std::span<const double> step, std::span<double> targets,
              std::span<double> move, const Bend& bend) {
  constexpr int kHalvings = 6;  // a safeguard
  const std::size_t size = step.size();
  const auto fraction = [&](std::size_t i) {
    if (step[i] == 0.0) return std::numeric_limits<double>::infinity();
    return (support.end(i, step[i]) - support.w[i]) / step[i];
  };
  double first = 1.0;
  for (std::size_t i = 0; i < size; ++i) {
    if (!std::isfinite(step[i])) return false;
    first = std::min(first, fraction(i));
  }
  double share = 1.0;
  for (int trial = 0;; ++trial) {
    double change = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      const double w = support.w[i];
      targets[i] = share >= fraction(i) ? support.end(i, step[i]) : w + share * step[i];
      move[i] = targets[i] - w;
      change += move[i] * support.slope[i] + support.charge(i, targets[i]) - support.charge(i, w);
    }
    if (share <= first || change + 0.5 * bend(move) <= 0.0) return true;
    share = trial < kHalvings ? std::max(0.5 * share, first) : first;
  }
}

}  // namespace minimand
