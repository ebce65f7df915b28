#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chain/scores.hpp"

// Labellings of chains. Where no labelling is allowed, the labels are -1 and the value is minus
// infinity.
namespace minimand {

/// Max-sum: the labelling with the greatest score, and that score, of every sequence. Of equal ones
/// the first in the order of the labels is taken, from the last row backwards.
void best_paths(const ChainScores& scores, std::span<std::int64_t> labels,
                std::span<double> values);

/// The `count` greatest of every sequence, in decreasing order: labels (count, rows), values
/// (sequences, count).
void best_paths(const ChainScores& scores, std::size_t count, std::span<std::int64_t> labels,
                std::span<double> values);

/// Labellings drawn with probability proportional to exp(score): labels (count, rows), from
/// uniform numbers (count, rows) in [0, 1).
void sample_paths(const ChainScores& scores, std::size_t count, std::span<const double> uniform,
                  std::span<std::int64_t> labels);

}  // namespace minimand
