#include "chain/scaled.hpp"

#include <cmath>

#include "chain/tables.hpp"

namespace minimand {

/// One sequence on its way through the rows.
struct ScaledWalk {
  const ScaledTables& tables;
  std::size_t s, first, last, k, stride;
  double* alpha;
  double* beta;
  double* ratio;

  MINIMAND_INLINE double* at(double* rows, std::size_t t) const { return rows + t * stride; }
};

namespace {

constexpr std::size_t kEdges = 32;  // edges whose outer products are added at once; safeguard
constexpr double kWidest = 350.0;   // range of transitions: e^-350 is squared; derived
// Range beside forbidden transitions: kLeast times its exponential is no subnormal number; derived.
constexpr double kWidestBeside = 40.0;
constexpr double kLeast = 1e-290;  // least probability that is surely no underflow; derived
constexpr double kDrift = 1e-6;    // of the sum of marginals: a sign of overflow; safeguard

/// Whether a label that can be reached, and whose score is finite, has lost its probability.
MINIMAND_INLINE bool any_lost(const double* reached, const double* row, const double* alpha,
                              std::size_t k) {
  bool lost = false;
  for (std::size_t c = 0; c < k; ++c) {
    lost |= reached[c] > 0.0 && row[c] > kNoScore && !(alpha[c] >= kLeast);
  }
  return lost;
}

/// alpha_t and r_t of every row, and the log-partition; false if probabilities have vanished.
MINIMAND_INLINE bool go_forward(const ChainScores& scores, const ScaledWalk& walk,
                                ScaledSpace& space, double& log_partition) {
  const std::size_t k = walk.k, stride = walk.stride;
  double* const row = space.row.data();
  double* const reached = space.right.data();  // q_t
  double scales = 0.0, shifts = 0.0;
  for (std::size_t t = walk.first; t < walk.last; ++t) {
    double* const alpha = walk.at(walk.alpha, t);
    double* const ratio = walk.at(walk.ratio, t);
    row_scores(scores, walk.s, t, row);
    const double shift = largest(row, k);
    if (!(shift > kNoScore)) return false;
    exponentials(row, shift, stride, ratio);
    shifts += shift;
    if (t == walk.first) {
      std::fill(reached, reached + stride, 1.0);
    } else {
      std::fill(reached, reached + stride, 0.0);
      mix(alpha - stride, walk.tables.forward.data(), k, stride, reached);
      shifts += walk.tables.shift;
    }
    const double scale = dot(reached, ratio, stride);
    if (!(scale > 0.0)) return false;
    scales += std::log(scale);
    const Lanes inverse = same_lanes(1.0 / scale);
    for (std::size_t c = 0; c < stride; c += kLanes) {
      const Lanes scaled = load_lanes(ratio + c) * inverse;
      store_lanes(ratio + c, scaled);
      store_lanes(alpha + c, load_lanes(reached + c) * scaled);
    }
    if (walk.tables.careful && any_lost(reached, row, alpha, k)) return false;
  }
  log_partition = scales + shifts;
  return std::isfinite(log_partition);
}

/// factor beta_t r_t, the right side of the edge that ends in row t.
MINIMAND_INLINE void right_side(const ScaledWalk& walk, std::size_t t, double factor, double* to) {
  const double* const beta = walk.at(walk.beta, t);
  const double* const ratio = walk.at(walk.ratio, t);
  for (std::size_t c = 0; c < walk.stride; c += kLanes) {
    store_lanes(to + c, factor * (load_lanes(beta + c) * load_lanes(ratio + c)));
  }
}

/// beta_t of every row, scaled so that alpha_t beta_t sums to 1, against the drift of many
/// roundings; false if a sum was far from it.
MINIMAND_INLINE bool go_backward(const ScaledWalk& walk, ScaledSpace& space) {
  const std::size_t stride = walk.stride;
  double* const end = walk.at(walk.beta, walk.last - 1);
  std::fill(end, end + stride, 1.0);
  bool sound = true;
  for (std::size_t t = walk.last - 1; t > walk.first; --t) {
    right_side(walk, t, 1.0, space.right.data());
    double* const before = walk.at(walk.beta, t - 1);
    std::fill(before, before + stride, 0.0);
    mix(space.right.data(), walk.tables.backward.data(), walk.k, stride, before);
    const double total = dot(walk.at(walk.alpha, t - 1), before, stride);
    sound &= std::abs(total - 1.0) < kDrift;
    const Lanes inverse = same_lanes(1.0 / total);
    for (std::size_t c = 0; c < stride; c += kLanes) {
      store_lanes(before + c, load_lanes(before + c) * inverse);
    }
  }
  return sound;
}

/// sums += mass alpha_{t-1} (beta_t r_t)' over the edges.
MINIMAND_INLINE void add_edges(const ScaledWalk& walk, double mass, double* sums,
                               ScaledSpace& space) {
  for (std::size_t lo = walk.first; lo + 1 < walk.last; lo += kEdges) {
    const std::size_t edges = std::min(kEdges, walk.last - 1 - lo);
    for (std::size_t e = 0; e < edges; ++e) {
      right_side(walk, lo + 1 + e, mass, space.right.data() + e * walk.stride);
    }
    add_outer(walk.at(walk.alpha, lo), space.right.data(), edges, walk.k, walk.stride, sums);
  }
}

MINIMAND_INLINE void write_marginals(const ScaledWalk& walk, std::size_t width,
                                     std::span<double> marginals) {
  for (std::size_t t = walk.first; t < walk.last; ++t) {
    const double* const alpha = walk.at(walk.alpha, t);
    const double* const beta = walk.at(walk.beta, t);
    double* const to = marginals.data() + t * width;
    for (std::size_t c = 0; c < walk.k; ++c) to[c] = alpha[c] * beta[c];
    fill_up(to, walk.k, width);
  }
}

/// alpha_t (F_t + d_t - mean) of every row: d_t is the direction of its scores, F_t(c) the mean of
/// the direction over what stands before if row t has label c, and `mean` that over everything.
MINIMAND_INLINE void move_forward(const ChainScores& scores, const ScaledDirection& direction,
                                  const ScaledWalk& walk, ScaledSpace& space) {
  const std::size_t k = walk.k, stride = walk.stride, rows = walk.last - walk.first;
  double* const row = space.row.data();
  double* const come = space.turned.data();
  for (std::size_t t = walk.first; t < walk.last; ++t) {
    const double* const alpha = walk.at(walk.alpha, t);
    const double* const ratio = walk.at(walk.ratio, t);
    double* const moved = space.moved.data() + (t - walk.first) * stride;
    std::fill(come, come + stride, 0.0);
    if (t > walk.first) {
      mix(moved - stride, walk.tables.forward.data(), k, stride, come);
      mix(alpha - stride, direction.forward.data(), k, stride, come);
    }
    row_scores(scores, walk.s, t, row);
    for (std::size_t c = 0; c < stride; c += kLanes) {
      const Lanes own = load_lanes(alpha + c) * load_lanes(row + c);
      store_lanes(moved + c, load_lanes(ratio + c) * load_lanes(come + c) + own);
    }
  }
  // In the last row beta is 1.
  const double mean = sum(space.moved.data() + (rows - 1) * stride, stride);
  const double* const alpha = walk.at(walk.alpha, walk.first);
  for (std::size_t i = 0; i < rows * stride; i += kLanes) {
    double* const moved = space.moved.data() + i;
    store_lanes(moved, load_lanes(moved) - mean * load_lanes(alpha + i));
  }
}

/// The covariances of every label, and of every transition, with the direction.
MINIMAND_INLINE void move_backward(const ChainScores& scores, const ScaledDirection& direction,
                                   const ScaledWalk& walk, double mass, std::span<double> marginals,
                                   double* sums, ScaledSpace& space) {
  const std::size_t k = walk.k, stride = walk.stride;
  double* const row = space.row.data();
  double* const ahead = space.turned.data();  // beta_t times the mean of what stands behind
  double* const rights = space.right.data();
  double* const others = rights + kEdges * stride;
  std::fill(ahead, ahead + stride, 0.0);
  for (std::size_t hi = walk.last; hi > walk.first;) {
    const std::size_t lo = hi - walk.first > kEdges ? hi - kEdges : walk.first;
    for (std::size_t t = hi; t-- > lo;) {
      const double* const alpha = walk.at(walk.alpha, t);
      const double* const beta = walk.at(walk.beta, t);
      const double* const ratio = walk.at(walk.ratio, t);
      const double* const moved = space.moved.data() + (t - walk.first) * stride;
      double* const to = marginals.data() + t * scores.width;
      fill_up(to, k, scores.width);
      for (std::size_t c = 0; c < k; ++c) {
        to[c] = mass * (beta[c] * moved[c] + alpha[c] * ahead[c]);
      }
      if (t == walk.first) break;
      double* const right = rights + (t - lo) * stride;
      double* const other = others + (t - lo) * stride;
      row_scores(scores, walk.s, t, row);
      right_side(walk, t, 1.0, right);
      for (std::size_t c = 0; c < stride; c += kLanes) {
        const Lanes behind = load_lanes(ratio + c) * load_lanes(ahead + c);
        store_lanes(other + c, load_lanes(right + c) * load_lanes(row + c) + behind);
      }
      std::fill(ahead, ahead + stride, 0.0);
      mix(other, walk.tables.backward.data(), k, stride, ahead);
      mix(right, direction.backward.data(), k, stride, ahead);
      for (std::size_t c = 0; c < stride; c += kLanes) {
        store_lanes(right + c, mass * load_lanes(right + c));
        store_lanes(other + c, mass * load_lanes(other + c));
      }
    }
    const std::size_t skip = lo == walk.first ? 1 : 0;  // the first row ends no edge
    if (hi > lo + skip) {
      const std::size_t from = lo + skip, edges = hi - from;
      const double* const moved = space.moved.data() + (from - 1 - walk.first) * stride;
      add_outer(moved, rights + skip * stride, edges, k, stride, sums);
      add_outer(walk.at(walk.alpha, from - 1), others + skip * stride, edges, k, stride, sums);
    }
    hi = lo;
  }
}

ScaledWalk walk_of(const ChainScores& shape, const ScaledTables& tables, std::size_t s,
                   ChainRows& rows) {
  return {tables,
          s,
          shape.first(s),
          shape.last(s),
          tables.k,
          tables.stride,
          rows.alpha.data(),
          rows.beta.data(),
          rows.ratio.data()};
}

}  // namespace

MINIMAND_CLONES bool scaled_pass_kernel(const ChainScores& scores, const ScaledWalk& walk,
                                        double mass, const ChainSums& to, double* sums,
                                        ScaledSpace& space) {
  std::fill(space.row.begin(), space.row.end(), kNoScore);
  double log_partition = 0.0;
  if (!go_forward(scores, walk, space, log_partition)) return false;
  if (sums != nullptr) {
    if (!go_backward(walk, space)) return false;
    add_edges(walk, mass, sums, space);
    write_marginals(walk, scores.width, to.marginals);
  }
  to.log_partition[walk.s] = log_partition;
  return true;
}

MINIMAND_CLONES void scaled_product_kernel(const ChainScores& scores,
                                           const ScaledDirection& direction, const ScaledWalk& walk,
                                           double mass, std::span<double> marginals, double* sums,
                                           ScaledSpace& space) {
  std::fill(space.row.begin(), space.row.end(), 0.0);
  move_forward(scores, direction, walk, space);
  move_backward(scores, direction, walk, mass, marginals, sums, space);
}

std::optional<ScaledTables> scaled_tables(std::span<const double> transitions, std::size_t k) {
  double most = kNoScore, least = -kNoScore;
  bool careful = false;
  for (const double score : transitions) {
    if (score > kNoScore) {
      most = std::max(most, score);
      least = std::min(least, score);
    } else {
      careful = true;
    }
  }
  if (!(most > kNoScore) || !(most - least < (careful ? kWidestBeside : kWidest))) return {};
  ScaledTables tables{k, padded(k), {}, {}, most, careful};
  std::vector<double> powers(transitions.size());
  for (std::size_t i = 0; i < powers.size(); ++i) powers[i] = std::exp(transitions[i] - most);
  tables.forward = padded_table(powers, k, 0.0);
  tables.backward = padded_table(powers, k, 0.0, true);
  return tables;
}

ScaledDirection scaled_direction(const ChainDirection& direction, const ScaledTables& tables) {
  ScaledDirection turned{direction, padded_table(direction.transitions, tables.k, 0.0),
                         padded_table(direction.transitions, tables.k, 0.0, true)};
  for (std::size_t i = 0; i < turned.forward.size(); ++i) {
    turned.forward[i] *= tables.forward[i];
    turned.backward[i] *= tables.backward[i];
  }
  return turned;
}

ScaledSpace::ScaledSpace(std::size_t stride)
    : row(stride), right(2 * kEdges * stride), turned(stride) {}

bool scaled_sequence(const ChainScores& scores, const ScaledTables& tables, std::size_t s,
                     double mass, ChainRows& rows, const ChainSums& to, double* sums,
                     ScaledSpace& space) {
  return scaled_pass_kernel(scores, walk_of(scores, tables, s, rows), mass, to, sums, space);
}

void scaled_product(const ScaledDirection& direction, std::span<const std::int64_t> offsets,
                    const ScaledTables& tables, std::size_t s, double mass, ChainRows& rows,
                    std::span<double> marginals, double* sums, ScaledSpace& space) {
  const auto& [unary, transitions, start, stop] = direction.direction;
  const std::size_t width = unary.size() / static_cast<std::size_t>(offsets.back());
  const ChainScores moves{unary, offsets, transitions, start, stop, {}, tables.k, width};
  const ScaledWalk walk = walk_of(moves, tables, s, rows);
  const std::size_t needed = (walk.last - walk.first) * walk.stride;
  if (space.moved.size() < needed) space.moved.resize(needed);
  scaled_product_kernel(moves, direction, walk, mass, marginals, sums, space);
}

}  // namespace minimand
