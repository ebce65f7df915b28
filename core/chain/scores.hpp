#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Chains c_1 .. c_l of k labels, one after the other: sequence s has the rows offsets[s] to
// offsets[s + 1], and the score of a labelling is
//   start(c_1) + sum_t unary_t(c_t) + sum_t transitions(c_{t-1}, c_t) + stop(c_l).
// A score of minus infinity forbids a label or a transition.
namespace minimand {

struct ChainScores {
  std::span<const double> unary;  // (rows, width): k scores a row, the rest is not read
  std::span<const std::int64_t> offsets;
  std::span<const double> transitions;  // (k, k), from and to
  std::span<const double> start, stop;  // (k,)
  std::span<const double> edges;  // empty, or (rows, k, k): row t is added to the transitions from
                                  // t - 1 to t; that of a first row is not read
  std::size_t k, width;

  std::size_t rows() const { return unary.size() / width; }
  std::size_t sequences() const { return offsets.size() - 1; }
  std::size_t first(std::size_t s) const { return static_cast<std::size_t>(offsets[s]); }
  std::size_t last(std::size_t s) const { return static_cast<std::size_t>(offsets[s + 1]); }
};

/// A change of the scores.
struct ChainDirection {
  std::span<const double> unary;        // (rows, width)
  std::span<const double> transitions;  // (k, k)
  std::span<const double> start, stop;  // (k,)
};

/// What a kernel that visits sequences writes for row t of sequence s; empty: not wanted.
struct ChainSums {
  std::span<double> log_partition = {};  // (sequences,)
  std::span<double> marginals = {};      // (rows, width), filled up with zeros
  std::span<double> pairs = {};          // (k, k): sum of mass times marginals of transitions
  std::span<double> edge_pairs = {};  // (rows, k, k): marginals of transitions, zero in first rows
  std::span<double> entropy = {};     // (sequences,)
  /// If there are labels (rows,): the score of theirs (sequences,), and the marginals are written
  /// as mass times their difference from these labels.
  std::span<const std::int64_t> labels = {};
  std::span<double> path = {};
};

}  // namespace minimand
