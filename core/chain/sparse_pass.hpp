#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chain/scores.hpp"

// A sum-product pass from weights to their slope, sequence by sequence: the scores of a token are
// made of its features, used, and forgotten, so that nothing of the size of (tokens, k) is read or
// written.
namespace minimand {

/// The features of tokens. Columns with many labels have a row of weights, in a table; the others
/// have single weights, each of one label.
struct SparseTokens {
  std::span<const std::int64_t> starts;   // of the columns of every token
  std::span<const std::int32_t> columns;  // rows of the table
  std::span<const double> values;
  std::span<const std::int64_t> single_starts;  // of its single weights
  std::span<const std::int32_t> singles;        // their places
  std::span<const std::int32_t> labels;
  std::span<const double> single_values;
};

/// The weights, or a slope in them; `width` numbers a row of the table, whole vectors of
/// which k are used.
struct SparseWeights {
  std::span<const double> table, singles, transitions, start, stop;
  std::size_t k, width;
};

/// What is found: log-partition and score of the labels of every sequence, and the sum of mass
/// times marginals minus labels in all weights, one part after the other: the table, single
/// weights, transitions (of which the labels are not subtracted), start and stop.
struct SparseSlope {
  std::span<double> log_partition, path, slope;
};

void sparse_pass(const SparseTokens& tokens, std::span<const std::int64_t> offsets,
                 std::span<const std::int64_t> labels, std::span<const double> mass,
                 const SparseWeights& weights, const SparseSlope& to);

}  // namespace minimand
