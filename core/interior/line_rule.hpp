#pragma once

#include <cmath>

// What Newton's and quasi-Newton steps ask of a point along a step.
namespace minimand {

inline constexpr int kTrials = 30;          // of a line search; safeguard
inline constexpr double kRounding = 1e-13;  // share of the objective; safeguard

/// Whether an objective has fallen from one value to another by enough for a step of this length,
/// up to rounding; `slope` is that of the objective at the beginning, in the length.
inline bool falls_enough(double from, double to, double length, double slope) {
  constexpr double kArmijo = 1e-4;  // share of the promised decrease; convention
  return to <= from + kRounding * std::fabs(from) + kArmijo * length * slope;
}

}  // namespace minimand
