#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "chain/scores.hpp"

// Sums over all labellings of a chain as products of probabilities: no logarithm and, but for the
// unary scores, no exponential in the recursions. With E = exp(transitions) and e_t = exp(unary_t),
//   q_t = alpha_{t-1} E,  r_t = e_t / (q_t . e_t),  alpha_t = q_t r_t      (alpha sums to 1)
//   beta_{t-1} = E (beta_t r_t)                                            (alpha beta sums to 1)
// so that alpha_t beta_t are the marginals of row t, and alpha_{t-1}(a) E(a, b) r_t(b) beta_t(b)
// those of its transition. The scores of start and stop belong to the first and the last row.
namespace minimand {

/// The exponentials of transitions, where these do not differ too much for it.
struct ScaledTables {
  std::size_t k, stride;
  std::vector<double> forward, backward;  // exp(transitions - shift) and its transpose, padded
  double shift;
  /// Whether some transitions are forbidden. If none is, a label that was lost to underflow cannot
  /// become important again: from any other label the same ones can be reached, at a cost of at
  /// most the range of the transitions. With forbidden ones it can, and a sequence that has lost a
  /// label is redone in logarithms.
  bool careful;
};

/// None if the transitions differ by so much that probabilities could vanish.
std::optional<ScaledTables> scaled_tables(std::span<const double> transitions, std::size_t k);

/// The rows of a pass, padded; for a sequence in logarithms the logarithms of the same.
struct ChainRows {
  std::vector<double> alpha, beta, ratio;
};

/// Space of one thread.
struct ScaledSpace {
  std::vector<double> row, right, turned, moved;
  explicit ScaledSpace(std::size_t stride);
};

/// One sequence of a pass; `sums` is padded and gets the mass times alpha_{t-1} (beta_t r_t)'. If
/// it is null, only the log-partition is found. False if probabilities have vanished.
bool scaled_sequence(const ChainScores& scores, const ScaledTables& tables, std::size_t s,
                     double mass, ChainRows& rows, const ChainSums& to, double* sums,
                     ScaledSpace& space);

/// A direction, with E times that of the transitions, entry by entry, and its transpose.
struct ScaledDirection {
  ChainDirection direction;
  std::vector<double> forward, backward;
};
ScaledDirection scaled_direction(const ChainDirection& direction, const ScaledTables& tables);

/// mass times the derivative along the direction of the marginals of one sequence; `sums` gets
/// what, times E, is that of the transitions while these stay as they are.
void scaled_product(const ScaledDirection& direction, std::span<const std::int64_t> offsets,
                    const ScaledTables& tables, std::size_t s, double mass, ChainRows& rows,
                    std::span<double> marginals, double* sums, ScaledSpace& space);

}  // namespace minimand
