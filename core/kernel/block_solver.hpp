#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/lanes.hpp"

// Sequential minimal optimisation within a block of positions whose Gram matrix fits a cache.
namespace minimand {

/// Curvature below this share of the larger diagonal counts as none; safeguard, some ulp of
/// float32.
inline constexpr double kFlat = 1e-7;

/// Copies of what concerns the positions of a block, padded to whole vectors of lanes.
///
/// Positions of group 0 come first, from `begin[0]` to `begin[1]`, then those of group 1. `up` is
/// the slope of the objective's decrease if a grows (-inf if it cannot), `down` the slope of its
/// increase if a shrinks (+inf if it cannot). At an optimum no `up` of a group exceeds a `down`.
template <class Scalar>
struct Block {
  std::size_t size = 0;
  std::size_t stride = 0;
  std::size_t begin[3] = {0, 0, 0};
  std::vector<std::uint32_t> position;
  std::vector<Scalar> gram;
  std::vector<double> diagonal, a, f, low, high, below, above, up, down;

  void resize(std::size_t count) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    size = count;
    stride = (count + kLanes - 1) / kLanes * kLanes;
    position.resize(count);
    gram.assign(stride * stride, Scalar{0});
    for (auto* values : {&a, &f, &low, &high, &below, &above}) values->assign(stride, 0.0);
    diagonal.assign(stride, 1.0);
    up.assign(stride, -kInfinity);
    down.assign(stride, kInfinity);
  }
};

struct BlockReport {
  double violation;
  std::int64_t steps;
};

/// Moves the positions of a block until their violation is at most `goal`, or at most `share` of
/// what it was.
BlockReport solve_block(Block<float>& block, bool balanced, double goal, double share);
BlockReport solve_block(Block<double>& block, bool balanced, double goal, double share);

/// The slopes of one position: see `Block`.
MINIMAND_INLINE double slope_up(double a, double f, double high, double below, double above) {
  if (!(a < high)) return -std::numeric_limits<double>::infinity();
  return (a < 0.0 ? below : above) - f;
}
MINIMAND_INLINE double slope_down(double a, double f, double low, double below, double above) {
  if (!(a > low)) return std::numeric_limits<double>::infinity();
  return (a > 0.0 ? above : below) - f;
}

}  // namespace minimand
