#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dense/matrix.hpp"

namespace minimand {

/// The dual of a kernel machine:
///
///     minimise  1/2 a'Ka - sum_i gain_i(a_i)   over   low <= a <= high,
///
/// gain_i has the slope `above` where a_i > 0 and `below` where a_i < 0, below >= above. If
/// `balanced`, the sum of a over each group stays as it is (a free intercept); else every a_i moves
/// by itself. Each group is a run of positions in no particular order: `group` says 0 or 1.
struct BoxProblem {
  std::span<const double> low;
  std::span<const double> high;
  std::span<const double> below;
  std::span<const double> above;
  std::span<const std::uint8_t> group;
  bool balanced;
};

/// What the steps change: a, and f = Ka at all positions.
struct BoxState {
  std::span<double> a;
  std::span<double> f;
};

struct BoxReport {
  double violation;    // max over groups of (largest slope up - smallest slope down), at the end
  std::int64_t steps;  // pairs (or single positions) that moved
  std::int64_t blocks;
};

/// Moves the positions whose rows of K are given, the first `rows.lines` ones, until no pair of
/// them violates optimality by more than `goal`; `rows` has all columns. Pairs are selected by
/// their gain (second order), within blocks of positions that violate optimality most.
BoxReport box_steps(const DenseMatrix<float>& rows, const BoxProblem& problem, BoxState state,
                    double goal, std::size_t block, std::int64_t most_blocks);
BoxReport box_steps(const DenseMatrix<double>& rows, const BoxProblem& problem, BoxState state,
                    double goal, std::size_t block, std::int64_t most_blocks);

}  // namespace minimand
