#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "chain/scaled.hpp"
#include "chain/scores.hpp"

namespace minimand {

/// The score of the given labels of one sequence; its marginals become mass times the difference.
void compare_with_labels(const ChainScores& scores, std::size_t s, double mass,
                         const ChainSums& to);

/// Sum-product over chains: partition functions and marginals, and their derivatives along
/// directions. The rows of the last pass are kept for the derivatives.
class ChainPass {
 public:
  ChainPass(std::span<const std::int64_t> offsets, std::size_t k);

  std::size_t labels() const { return k_; }
  std::span<const std::int64_t> offsets() const { return offsets_; }

  /// Fills in what `to` has room for, with a mass per sequence. A sequence of which no labelling is
  /// allowed has the log-partition minus infinity, and zeros elsewhere.
  void run(const ChainScores& scores, std::span<const double> mass, const ChainSums& to);

  /// Whether `run` has found marginals, without scores of edges, so that `product` may follow.
  bool ready() const { return ready_; }

  /// sum over sequences of mass times the covariance of labels (rows, k) and of transitions (k, k)
  /// with the score of a direction, under the distribution of the last pass.
  void product(const ChainDirection& direction, std::span<double> marginals,
               std::span<double> pairs);

 private:
  std::vector<std::int64_t> offsets_;
  std::size_t k_, stride_;
  std::optional<ScaledTables> tables_;
  ChainRows rows_;
  std::vector<char> kind_;            // of every sequence: how its rows were found
  std::vector<double> transitions_;   // of the last pass
  std::vector<double> mass_;          // likewise
  std::vector<double> scaled_pairs_;  // what sequences that are not in logarithms gave
  bool ready_ = false;
};

}  // namespace minimand
