#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "descent/sweeps.hpp"

// The duality gap of a mean of squares + sum l1 |w| + 0.5 sum l2 w^2, without bounds, with the
// residuals as dual point, scaled by s into the domain of the penalty's conjugate.
namespace minimand {

struct SquaredGap {
  double gap;
  double scale;
};

/// The largest s <= 1 with s |gradient| <= l1: where there is no l2, or wherever there is an l1.
MINIMAND_INLINE double dual_scale(std::span<const double> gradient, Penalties penalties,
                                  bool only_without_l2) {
  // A few units in the last place smaller, so that rounding cannot put s |gradient| outside again.
  constexpr double kInside = 1.0 - 1e-15;  // factor; safeguard
  double least = 1.0;
  for (std::size_t j = 0; j < gradient.size(); ++j) {
    const double l1 = penalties.l1.data()[j];
    const double size = std::fabs(gradient.data()[j]);
    if (!(size > l1)) continue;  // the usual case
    const bool limits = only_without_l2 ? !(penalties.l2.data()[j] > 0.0) : l1 > 0.0;
    if (limits && least * size > l1) least = l1 / size;
  }
  return least < 1.0 ? least * kInside : least;
}

/// The gap at w for s times the residuals, by Fenchel-Young terms.
///
/// The samples add half the mean of (r - s r)^2. With v = -s gradient and c = soft(v, l1), a
/// feature adds (c - l2 w)^2 / (2 l2) + (l1 |w| - (v - c) w). A feature without any penalty makes
/// it infinite.
MINIMAND_INLINE double gap_at(double s, double residual_square, std::span<const double> gradient,
                              std::span<const double> w, Penalties penalties) {
  double gap = 0.5 * (1.0 - s) * (1.0 - s) * residual_square;
  for (std::size_t j = 0; j < w.size(); ++j) {
    const double l1 = penalties.l1.data()[j];
    const double l2 = penalties.l2.data()[j];
    const double value = w.data()[j];
    const double v = -s * gradient.data()[j];
    const double excess = std::fabs(v) - l1;
    // Most features are zero and inside their bounds: they add nothing.
    if (value == 0.0 && excess <= 0.0 && (l1 > 0.0 || l2 > 0.0)) continue;
    const double c = excess > 0.0 ? std::copysign(excess, v) : 0.0;
    const double rest = c - l2 * value;
    if (l2 > 0.0) {
      gap += 0.5 * rest * rest / l2;
    } else if (excess > 0.0 || !(l1 > 0.0)) {
      return std::numeric_limits<double>::infinity();
    }
    const double linear = l1 * std::fabs(value) - (v - c) * value;
    if (!(linear <= 0.0)) gap += linear;
  }
  return gap;
}

/// The smaller gap of two scales: with a small l2 the conjugate is finite but huge outside of the
/// l1 box, and the same point scaled into the box can be much better.
MINIMAND_INLINE SquaredGap squared_gap(double residual_square, std::span<const double> gradient,
                                       std::span<const double> w, Penalties penalties) {
  const double needed = dual_scale(gradient, penalties, true);
  const double boxed = dual_scale(gradient, penalties, false);
  const double gap = gap_at(needed, residual_square, gradient, w, penalties);
  if (boxed == needed) return {gap, needed};
  const double other = gap_at(boxed, residual_square, gradient, w, penalties);
  return other < gap ? SquaredGap{other, boxed} : SquaredGap{gap, needed};
}

struct SquaredModel {
  SquaredGap found;
  double penalty;
};

/// The gap of a model whose residuals have this mean square and this slope, with the scale of its
/// dual point, and what the penalties charge for it.
SquaredModel gap_of_squares(double residual_square, std::span<const double> slope,
                            std::span<const double> w, Penalties penalties);

}  // namespace minimand
