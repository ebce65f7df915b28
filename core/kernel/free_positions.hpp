#pragma once

#include "interior/small_system.hpp"
#include "kernel/block_solver.hpp"

namespace minimand {

/// Newton's steps on the free positions of a block, those that are neither at a bound nor at a
/// corner of their gain.
///
/// Steps of pairs are slow where K of the free positions is nearly singular: large bounds, wide
/// kernels, few features. Among the free positions the problem is a linear system,
///
///     K_FF d + level = slope,   sum of d = 0 in each group,
///
/// solved at once. A position that reaches a bound on the way leaves the system, which is then
/// solved again.
class FreePositions {
 public:
  /// Moves a towards the optimum among the free positions, by factors of at most `budget`
  /// multiplications; how many they took, zero if nothing moved. f and the slopes of the block are
  /// not updated.
  double move(Block<double>& block, bool balanced, double budget);

  /// How many positions are free.
  static std::size_t count(const Block<double>& block);

 private:
  bool find_step(Block<double>& block, bool balanced);
  void balance(const Block<double>& block);
  double slopes_along(Block<double>& block);

  SmallSystem system_;
  std::vector<std::size_t> free_;
  std::vector<double> slope_, step_, change_, matrix_, images_[2];
};

}  // namespace minimand
