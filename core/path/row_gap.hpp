#pragma once

#include <cstddef>
#include <span>

#include "path/gap.hpp"

namespace minimand {

/// sum norm |W_j| + 0.5 sum l2 |W_j|^2 over rows of so many numbers.
struct RowPenalties {
  std::span<const double> norm;
  std::span<const double> l2;
  std::size_t scores;
};

/// As `gap_of_squares`, for a model of several outputs with norms of the rows of W.
///
/// With v = -s gradient, q is the nearest point to v in the ball of the row, and its parts are
/// norm |w| - q w = (norm - |q|) |w| + 0.5 |q| |w| |w/|w| - q/|q||^2 and (v - q - l2 w)^2 / (2 l2).
SquaredModel gap_of_rows(double residual_square, std::span<const double> slope,
                         std::span<const double> w, RowPenalties penalties);

}  // namespace minimand
