#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "common/lanes.hpp"
#include "scalar/exponential.hpp"
#include "trees/forest.hpp"

// What nodes tell their parents. A message has one number per label b of the parent: the maximum,
// or the logarithm of the sum of exponentials, over labels a of the child.
namespace minimand {

inline constexpr double kNever = -std::numeric_limits<double>::infinity();

/// Pair scores of the edge of a node to its parent, one row per label of the node.
class ParentTables {
 public:
  explicit ParentTables(const ForestScores& scores) : scores_(scores), k_(scores.k) {
    if (scores.shared()) turn(scores.pair.data(), turned_);
  }

  /// (k, k): the entry of label a of the node and b of its parent is at a k + b.
  const double* of(std::size_t node, std::vector<double>& scratch) const {
    const auto e = static_cast<std::size_t>(scores_.link[node]);
    const bool first = scores_.edges[2 * e] == static_cast<std::int64_t>(node);
    if (scores_.shared()) return first ? scores_.pair.data() : turned_.data();
    const double* const own = scores_.pair.data() + e * k_ * k_;
    if (first) return own;
    turn(own, scratch);
    return scratch.data();
  }

  /// Whether the node is the first end of that edge.
  bool is_first(std::size_t node) const {
    const auto e = static_cast<std::size_t>(scores_.link[node]);
    return scores_.edges[2 * e] == static_cast<std::int64_t>(node);
  }

 private:
  void turn(const double* from, std::vector<double>& to) const {
    to.resize(k_ * k_);
    for (std::size_t a = 0; a < k_; ++a) {
      for (std::size_t b = 0; b < k_; ++b) to[b * k_ + a] = from[a * k_ + b];
    }
  }

  const ForestScores& scores_;
  std::size_t k_;
  std::vector<double> turned_;
};

/// message[b] = max over a of inside[a] + table[a][b].
MINIMAND_INLINE void greatest(const double* inside, const double* table, std::size_t k,
                              double* __restrict message) {
  for (std::size_t b = 0; b < k; ++b) message[b] = kNever;
  for (std::size_t a = 0; a < k; ++a) {
    const double own = inside[a];
    const double* const row = table + a * k;
    for (std::size_t b = 0; b < k; ++b) {
      const double value = own + row[b];
      message[b] = value > message[b] ? value : message[b];
    }
  }
}

/// total[b] += factor[b] * exp(own + row[b] - shift[b]), and the terms themselves to `terms`.
MINIMAND_INLINE double add_exponentials(double own, const double* row, const double* shift,
                                        const double* factor, std::size_t k, double* terms) {
  Lanes sum = {};
  std::size_t b = 0;
  for (; b + kLanes <= k; b += kLanes) {
    const Lanes power = exponential((own + load_lanes(row + b)) - load_lanes(shift + b));
    const Lanes term = load_lanes(factor + b) * power;
    store_lanes(terms + b, term);
    sum += term;
  }
  if (b < k) {
    const Lanes power =
        exponential((own + load_some(row + b, k - b)) - load_some(shift + b, k - b));
    const Lanes term = load_some(factor + b, k - b) * power;
    store_some(terms + b, term, k - b);
    // Not the term itself: in lanes without a label it is exp(own) times zero, maybe no number.
    sum += load_some(terms + b, k - b);
  }
  return sum_lanes(sum);
}

/// total[b] += exp(own + row[b] - shift[b]).
MINIMAND_INLINE void accumulate_exponentials(double own, const double* row, const double* shift,
                                             std::size_t k, double* __restrict total) {
  std::size_t b = 0;
  for (; b + kLanes <= k; b += kLanes) {
    const Lanes power = exponential((own + load_lanes(row + b)) - load_lanes(shift + b));
    store_lanes(total + b, load_lanes(total + b) + power);
  }
  if (b < k) {
    const Lanes power =
        exponential((own + load_some(row + b, k - b)) - load_some(shift + b, k - b));
    store_some(total + b, load_some(total + b, k - b) + power, k - b);
  }
}

/// message[b] = log of the sum over a of exp(inside[a] + table[a][b]); `total` is scratch.
///
/// The largest term is taken out first, so nothing overflows, whatever the size of the scores.
MINIMAND_INLINE void log_sums(const double* inside, const double* table, std::size_t k,
                              double* __restrict total, double* __restrict message) {
  greatest(inside, table, k, message);
  for (std::size_t b = 0; b < k; ++b) {
    total[b] = 0.0;
    message[b] = message[b] == kNever ? 0.0 : message[b];  // all its terms are zero
  }
  for (std::size_t a = 0; a < k; ++a) {
    if (inside[a] == kNever) continue;
    accumulate_exponentials(inside[a], table + a * k, message, k, total);
  }
  for (std::size_t b = 0; b < k; ++b) message[b] += std::log(total[b]);
}

}  // namespace minimand
