#pragma once

#include "kernel/block_solver.hpp"

namespace minimand {

/// The best level of each group of a block, and the gap there: see `minimand.canonical.Box`.
class BlockJudge {
 public:
  /// Finds the levels that minimise the losses at the scores f of the block.
  void find_levels(const Block<double>& block, bool balanced);

  /// The sum of the Fenchel-Young terms at those levels, none of which is negative.
  /// If `scaled`, what they come to for the best multiple of f and the levels.
  double gap(const Block<double>& block, bool scaled) const;

  const double* levels() const { return levels_; }

 private:
  struct Crossing {
    double point, weight;
  };
  double level_of(const Block<double>& block, Range positions);

  std::vector<Crossing> crossings_;
  double levels_[2] = {0.0, 0.0};
};

}  // namespace minimand
