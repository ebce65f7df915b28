#pragma once

#include <cstddef>
#include <span>

namespace minimand {

/// The samples of a least-squares problem: targets and masses, which add up to one.
struct Targets {
  std::span<const double> y;
  std::span<const double> mass;
};

/// Weighted sums over the samples of one model.
struct ResidualSums {
  double mean;         // of the residual r = z - y
  double size;         // of |r|
  double square;       // of r^2
  double score_times;  // of |r z|
};

/// For every row z of `scores` the residuals and their sums, after a constant was added to z: its
/// entry of `shifts`. With `centre`, that is first set to what makes the mean residual zero.
void residual_rows(std::span<double> scores, Targets targets, bool centre, std::span<double> shifts,
                   std::span<double> residuals, std::span<ResidualSums> sums);

/// The constant that makes the mean of z - y zero when it is added to z: the mean residual,
/// corrected by a second pass; zero if it is only rounding.
double residual_shift(std::span<const double> scores, Targets targets);

/// A scale of residuals and what it costs.
struct HuberScale {
  double sigma;
  double value;
};

/// The s >= 0 that minimises s + sum of mass s H(r / s), and that sum; H(t) = t^2 up to `knot`,
/// 2 knot |t| - knot^2 beyond. It is 0 if most residuals vanish, or if one is not finite.
HuberScale huber_scale(std::span<const double> residuals, std::span<const double> mass,
                       double knot);

}  // namespace minimand
