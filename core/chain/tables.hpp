#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "chain/scores.hpp"
#include "common/lanes.hpp"
#include "scalar/exponential.hpp"
#include "scores/padded.hpp"

// Tables of k rows, each padded to whole vectors, and the products that chains need. All of it is
// inlined into kernels that are compiled once per instruction set (see targets.hpp).
namespace minimand {

inline constexpr double kNoScore = -std::numeric_limits<double>::infinity();

/// A (k, k) matrix with padded rows; `pad` fills the rest.
inline std::vector<double> padded_table(std::span<const double> matrix, std::size_t k, double pad,
                                        bool transposed = false) {
  const std::size_t stride = padded(k);
  std::vector<double> table(k * stride, pad);
  for (std::size_t a = 0; a < k; ++a) {
    for (std::size_t b = 0; b < k; ++b) {
      table[a * stride + b] = matrix[transposed ? b * k + a : a * k + b];
    }
  }
  return table;
}

/// to += sum_a x_a table_a, L vectors of it.
template <std::size_t L>
MINIMAND_INLINE void mix_chunk(const double* x, const double* table, std::size_t k,
                               std::size_t stride, double* to) {
  Lanes even[L], odd[L] = {};
  for (std::size_t l = 0; l < L; ++l) even[l] = load_lanes(to + l * kLanes);
  std::size_t a = 0;
  for (; a + 2 <= k; a += 2, table += 2 * stride) {
    const Lanes one = same_lanes(x[a]), other = same_lanes(x[a + 1]);
    for (std::size_t l = 0; l < L; ++l) {
      even[l] += one * load_lanes(table + l * kLanes);
      odd[l] += other * load_lanes(table + stride + l * kLanes);
    }
  }
  if (a < k) {
    const Lanes one = same_lanes(x[a]);
    for (std::size_t l = 0; l < L; ++l) even[l] += one * load_lanes(table + l * kLanes);
  }
  for (std::size_t l = 0; l < L; ++l) store_lanes(to + l * kLanes, even[l] + odd[l]);
}

/// to += sum_a x_a table_a: a row times a matrix, all rows padded to `stride`.
MINIMAND_INLINE void mix(const double* x, const double* table, std::size_t k, std::size_t stride,
                         double* to) {
  std::size_t c = 0;
  for (; c + 4 * kLanes <= stride; c += 4 * kLanes) mix_chunk<4>(x, table + c, k, stride, to + c);
  switch ((stride - c) / kLanes) {
    case 3:
      mix_chunk<3>(x, table + c, k, stride, to + c);
      break;
    case 2:
      mix_chunk<2>(x, table + c, k, stride, to + c);
      break;
    case 1:
      mix_chunk<1>(x, table + c, k, stride, to + c);
      break;
    default:
      break;
  }
}

/// sums_a += sum_e left_e(a) right_e for R rows a, L vectors of it.
template <std::size_t R, std::size_t L>
MINIMAND_INLINE void outer_tile(const double* left, const double* right, std::size_t edges,
                                std::size_t stride, double* sums) {
  Lanes tile[R][L];
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t l = 0; l < L; ++l) tile[r][l] = load_lanes(sums + r * stride + l * kLanes);
  }
  for (std::size_t e = 0; e < edges; ++e, left += stride, right += stride) {
    Lanes own[L];
    for (std::size_t l = 0; l < L; ++l) own[l] = load_lanes(right + l * kLanes);
    for (std::size_t r = 0; r < R; ++r) {
      const Lanes factor = same_lanes(left[r]);
      for (std::size_t l = 0; l < L; ++l) tile[r][l] += factor * own[l];
    }
  }
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t l = 0; l < L; ++l) store_lanes(sums + r * stride + l * kLanes, tile[r][l]);
  }
}

template <std::size_t L>
MINIMAND_INLINE void outer_columns(const double* left, const double* right, std::size_t edges,
                                   std::size_t k, std::size_t stride, double* sums) {
  std::size_t a = 0;
  for (; a + 4 <= k; a += 4) {
    outer_tile<4, L>(left + a, right, edges, stride, sums + a * stride);
  }
  for (; a < k; ++a) outer_tile<1, L>(left + a, right, edges, stride, sums + a * stride);
}

/// sums(a, b) += sum_e left_e(a) right_e(b), over rows that are padded to `stride`.
MINIMAND_INLINE void add_outer(const double* left, const double* right, std::size_t edges,
                               std::size_t k, std::size_t stride, double* sums) {
  std::size_t c = 0;
  for (; c + 3 * kLanes <= stride; c += 3 * kLanes) {
    outer_columns<3>(left, right + c, edges, k, stride, sums + c);
  }
  if (stride - c == 2 * kLanes) outer_columns<2>(left, right + c, edges, k, stride, sums + c);
  if (stride - c == kLanes) outer_columns<1>(left, right + c, edges, k, stride, sums + c);
}

MINIMAND_INLINE double largest(const double* x, std::size_t n) {
  Lanes wide = same_lanes(kNoScore);
  std::size_t c = 0;
  for (; c + kLanes <= n; c += kLanes) {
    const Lanes own = load_lanes(x + c);
    wide = select(own > wide, own, wide);
  }
  double most = kNoScore;
  for (std::size_t l = 0; l < kLanes; ++l) most = wide[l] > most ? wide[l] : most;
  for (; c < n; ++c) most = x[c] > most ? x[c] : most;
  return most;
}

/// to = exp(from - shift) for padded rows; the sum.
MINIMAND_INLINE double exponentials(const double* from, double shift, std::size_t stride,
                                    double* to) {
  Lanes total = {};
  for (std::size_t c = 0; c < stride; c += kLanes) {
    const Lanes power = exponential(load_lanes(from + c) - same_lanes(shift));
    store_lanes(to + c, power);
    total += power;
  }
  return sum_lanes(total);
}

/// The padded transitions of the edge that ends in row t; `table` holds those of all edges, or of
/// the last one if edges have scores of their own.
MINIMAND_INLINE const double* edge_table(const ChainScores& scores, std::size_t t,
                                         std::vector<double>& table) {
  if (scores.edges.empty()) return table.data();
  const std::size_t k = scores.k, stride = padded(k);
  const double* const edge = scores.edges.data() + t * k * k;
  for (std::size_t a = 0; a < k; ++a) {
    for (std::size_t b = 0; b < k; ++b) {
      table.data()[a * stride + b] = scores.transitions.data()[a * k + b] + edge[a * k + b];
    }
  }
  return table.data();
}

/// A row of k numbers, filled up with zeros.
MINIMAND_INLINE void fill_up(double* row, std::size_t k, std::size_t width) {
  for (std::size_t c = k; c < width; ++c) row[c] = 0.0;
}

/// The scores of row t with those of start and stop; the padding of the row stays as it is.
MINIMAND_INLINE void row_scores(const ChainScores& scores, std::size_t s, std::size_t t,
                                double* row) {
  const std::size_t k = scores.k;
  const double* const from = scores.unary.data() + t * scores.width;
  for (std::size_t c = 0; c < k; ++c) row[c] = from[c];
  if (t == scores.first(s)) {
    for (std::size_t c = 0; c < k; ++c) row[c] += scores.start.data()[c];
  }
  if (t + 1 == scores.last(s)) {
    for (std::size_t c = 0; c < k; ++c) row[c] += scores.stop.data()[c];
  }
}

}  // namespace minimand
