#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "chain/scaled.hpp"
#include "chain/scores.hpp"

// The same sums in logarithms: slower, as every step takes k^2 exponentials, but safe for any
// scores, and with transitions that differ from edge to edge. Rows hold log alpha_t, log beta_t and
// log r_t, scaled in every row as those of scaled.hpp are, so that long chains lose no digits.
namespace minimand {

/// Space of one thread; `table` holds the padded transitions of an edge.
struct LogSpace {
  std::vector<double> row, right, most, table, moved;
  LogSpace(const ChainScores& scores, std::size_t stride);
};

/// One sequence; `pairs` is padded and gets the mass times the marginals of transitions; null: only
/// the log-partition is found. False if no labelling is allowed.
bool log_sequence(const ChainScores& scores, std::size_t s, double mass, ChainRows& rows,
                  const ChainSums& to, double* pairs, LogSpace& space);

/// log alpha_t of every row of one sequence, from row 0 of `alpha` on; false likewise.
bool log_forward(const ChainScores& scores, std::size_t s, std::span<double> alpha,
                 LogSpace& space);

/// mass times the derivative of the marginals of one sequence along a direction; `pairs` gets that
/// of the marginals of transitions. The transitions of `scores` are those of the pass.
void log_product(const ChainScores& scores, const ChainDirection& direction, std::size_t s,
                 double mass, const ChainRows& rows, std::span<double> marginals, double* pairs,
                 LogSpace& space);

}  // namespace minimand
