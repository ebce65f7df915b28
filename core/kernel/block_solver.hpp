#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "common/lanes.hpp"
#include "dense/matrix.hpp"

// Sequential minimal optimisation within a block of positions.
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
class Block {
 public:
  std::size_t size = 0;
  std::size_t stride = 0;
  std::size_t begin[3] = {0, 0, 0};
  std::vector<std::uint32_t> position;  // row and column of K of every position
  std::vector<double> diagonal, a, f, low, high, below, above, up, down;

  /// Makes room for as many positions; their rows of K are copied when they are first needed.
  void resize(std::size_t count) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    size = count;
    stride = (count + kLanes - 1) / kLanes * kLanes;
    position.resize(count);
    known_.assign(count, 0);
    runs_.clear();
    for (auto* values : {&a, &f, &low, &high, &below, &above}) values->assign(stride, 0.0);
    diagonal.assign(stride, 1.0);
    up.assign(stride, -kInfinity);
    down.assign(stride, kInfinity);
  }

  /// Sets the matrix of which `position` says the rows and columns. Nothing of it is copied if the
  /// positions are adjacent.
  void take_rows_of(const DenseMatrix<Scalar>& matrix) {
    constexpr std::size_t kLongRuns = 16;  // positions of a run, on average; safeguard
    source_ = matrix;
    for (std::size_t k = 0; k < size; ++k) {
      const bool goes_on = k > 0 && position[k] == position[k - 1] + 1;
      if (!goes_on) runs_.push_back(k);
      if (runs_.size() * kLongRuns > size + kLongRuns) {  // copied one by one
        runs_.clear();
        break;
      }
    }
    if (runs_.size() == 1) {
      known_.assign(size, 1);
      lines_ = source_.line(position[0]).data() + position[0];
      apart_ = source_.stride;
    } else {
      if (room_ < stride * stride) {
        room_ = stride * stride;
        copies_ = std::make_unique_for_overwrite<Scalar[]>(room_);
      }
      lines_ = copies_.get();
      apart_ = stride;
    }
    for (std::size_t k = 0; k < size; ++k) {
      diagonal[k] = static_cast<double>(source_.line(position[k])[position[k]]);
    }
  }

  /// K of position k with all positions of the block.
  MINIMAND_INLINE const Scalar* row(std::size_t k) {
    if (!known_[k]) copy_row(k);
    return lines_ + k * apart_;
  }

  /// The rows of all positions; those that were never asked for hold anything.
  DenseMatrix<Scalar> rows() const {
    const std::size_t values = size == 0 ? 0 : (size - 1) * apart_ + size;
    return {{lines_, values}, size, size, apart_, true};
  }

 private:
  DenseMatrix<Scalar> source_;
  std::vector<std::uint8_t> known_;
  std::vector<std::size_t> runs_;     // where runs of adjacent positions begin
  std::unique_ptr<Scalar[]> copies_;  // of rows, `room_` numbers
  std::size_t room_ = 0;
  const Scalar* lines_ = nullptr;  // rows lie `apart_` from each other
  std::size_t apart_ = 0;

  [[gnu::noinline]] void copy_row(std::size_t k) {
    const Scalar* const from = source_.line(position[k]).data();
    Scalar* const to = copies_.get() + k * stride;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const std::size_t first = runs_[run];
      const std::size_t last = run + 1 < runs_.size() ? runs_[run + 1] : size;
      std::copy_n(from + position[first], last - first, to + first);
    }
    if (runs_.empty()) {
      for (std::size_t l = 0; l < size; ++l) to[l] = from[position[l]];
    }
    known_[k] = 1;
  }
};

struct BlockReport {
  double violation;
  std::int64_t steps;
};

/// Moves the positions of a block until their violation is at most `goal`, or at most `share` of
/// what it was, or after `most` steps.
BlockReport solve_block(Block<float>& block, bool balanced, double goal, double share,
                        std::int64_t most);
BlockReport solve_block(Block<double>& block, bool balanced, double goal, double share,
                        std::int64_t most);

/// The slopes of one position: see `Block`.
MINIMAND_INLINE double slope_up(double a, double f, double high, double below, double above) {
  if (!(a < high)) return -std::numeric_limits<double>::infinity();
  return (a < 0.0 ? below : above) - f;
}
MINIMAND_INLINE double slope_down(double a, double f, double low, double below, double above) {
  if (!(a > low)) return std::numeric_limits<double>::infinity();
  return (a > 0.0 ? above : below) - f;
}

/// The slopes of a position of a block, after its a or f has changed.
template <class Scalar>
MINIMAND_INLINE void refresh(Block<Scalar>& block, std::size_t k) {
  block.up[k] = slope_up(block.a[k], block.f[k], block.high[k], block.below[k], block.above[k]);
  block.down[k] = slope_down(block.a[k], block.f[k], block.low[k], block.below[k], block.above[k]);
}

/// Where position k ends if it grows: at its bound, or before it at the corner of its gain.
template <class Scalar>
MINIMAND_INLINE double top_of(const Block<Scalar>& block, std::size_t k) {
  const bool corner = block.a[k] < 0.0 && block.below[k] != block.above[k];
  return corner && block.high[k] > 0.0 ? 0.0 : block.high[k];
}
template <class Scalar>
MINIMAND_INLINE double bottom_of(const Block<Scalar>& block, std::size_t k) {
  const bool corner = block.a[k] > 0.0 && block.below[k] != block.above[k];
  return corner && block.low[k] < 0.0 ? 0.0 : block.low[k];
}

}  // namespace minimand
