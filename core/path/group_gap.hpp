#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "path/gap.hpp"

namespace minimand {

/// sum norm |w_g| + 0.5 sum l2 |w_g|^2 over groups, which are runs of numbers.
struct GroupNorms {
  std::span<const std::int64_t> starts;  // the first number of each group, and the end of the last
  std::span<const double> norm;
  std::span<const double> l2;
};

/// As `gap_of_squares`, for norms of groups of coefficients, such as the rows of a matrix.
///
/// With v = -s gradient, q is the nearest point to v in the ball of the group, and its parts are
/// norm |w| - q w = (norm - |q|) |w| + 0.5 |q| |w| |w/|w| - q/|q||^2 and (v - q - l2 w)^2 / (2 l2).
SquaredModel gap_of_groups(double residual_square, std::span<const double> slope,
                           std::span<const double> w, GroupNorms penalties);

}  // namespace minimand
