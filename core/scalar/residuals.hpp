#pragma once

#include <cstddef>
#include <span>

namespace minimand {

/// The samples of a least-squares problem: targets and masses.
struct Targets {
  std::span<const double> y;
  std::span<const double> mass;
};

/// Weighted sums over the samples of one model.
struct ResidualSums {
  double mean;         // of r = z - y
  double size;         // of |r|
  double square;       // of r^2
  double score_times;  // of |r z|
};

/// For every row z of `scores`: residual = z - y, weighted = mass * residual, and their sums.
/// With `centre`, the constant that makes the mean residual zero is added to the row first and to
/// its entry of `shifts`.
void residual_rows(std::span<double> scores, Targets targets, bool centre, std::span<double> shifts,
                   std::span<double> residual, std::span<double> weighted,
                   std::span<ResidualSums> sums);

}  // namespace minimand
