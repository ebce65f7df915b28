#include "chain/logs.hpp"

#include <cmath>

#include "chain/tables.hpp"
#include "scalar/logarithm.hpp"

namespace minimand {
namespace {

MINIMAND_INLINE Lanes finite_or_zero(Lanes x) { return select(x > kNoScore, x, Lanes{}); }

MINIMAND_INLINE Lanes greater(Lanes x, Lanes y) { return select(x > y, x, y); }

/// log sum_c e^{x_c} of a padded row.
MINIMAND_INLINE double log_sum(const double* x, std::size_t stride) {
  const double most = largest(x, stride);
  if (!(most > kNoScore)) return kNoScore;
  Lanes total = {};
  for (std::size_t c = 0; c < stride; c += kLanes) {
    total += exponential(load_lanes(x + c) - same_lanes(most));
  }
  return most + std::log(sum_lanes(total));
}

/// to_c = log sum_a e^{x_a + table(a, c)}.
MINIMAND_INLINE void log_mix(const double* x, const double* table, std::size_t k,
                             std::size_t stride, double* to) {
  for (std::size_t c = 0; c < stride; c += kLanes) {
    Lanes most = same_lanes(kNoScore), total = {};
    for (std::size_t a = 0; a < k; ++a) {
      most = greater(same_lanes(x[a]) + load_lanes(table + a * stride + c), most);
    }
    const Lanes shift = finite_or_zero(most);
    for (std::size_t a = 0; a < k; ++a) {
      total += exponential(same_lanes(x[a]) + load_lanes(table + a * stride + c) - shift);
    }
    store_lanes(to + c, select(most > kNoScore, most + logarithm(total), most));
  }
}

/// A row minus a number.
MINIMAND_INLINE void lower(const double* from, double by, std::size_t stride, double* to) {
  for (std::size_t c = 0; c < stride; c += kLanes) {
    store_lanes(to + c, load_lanes(from + c) - same_lanes(by));
  }
}

MINIMAND_INLINE void add_rows(const double* x, const double* y, std::size_t stride, double* to) {
  for (std::size_t c = 0; c < stride; c += kLanes) {
    store_lanes(to + c, load_lanes(x + c) + load_lanes(y + c));
  }
}

/// log alpha_t and log r_t of row t, from log alpha of the row before; the logarithm of its scale.
MINIMAND_INLINE double step_forward(const ChainScores& scores, std::size_t s, std::size_t t,
                                    double* alpha, double* ratio, LogSpace& space) {
  const std::size_t k = scores.k, stride = space.row.size();
  row_scores(scores, s, t, space.row.data());
  if (t == scores.first(s)) {
    std::copy(space.row.begin(), space.row.end(), alpha);
  } else {
    log_mix(alpha - stride, edge_table(scores, t, space.table), k, stride, alpha);
    add_rows(alpha, space.row.data(), stride, alpha);
  }
  const double scale = log_sum(alpha, stride);
  if (!(scale > kNoScore)) return scale;
  lower(alpha, scale, stride, alpha);
  if (ratio != nullptr) lower(space.row.data(), scale, stride, ratio);
  return scale;
}

/// The rows of one sequence, padded.
struct LogWalk {
  std::size_t first, last, k, stride;
  const double* alpha;
  double* beta;
  const double* ratio;
};

/// log beta_{t-1} from log beta_t; `space.right` gets log r_t + log beta_t.
MINIMAND_INLINE void step_backward(const LogWalk& walk, const double* table, std::size_t t,
                                   LogSpace& space) {
  const std::size_t stride = walk.stride;
  double* const right = space.right.data();
  add_rows(walk.ratio + t * stride, walk.beta + t * stride, stride, right);
  double* const before = walk.beta + (t - 1) * stride;
  for (std::size_t a = 0; a < walk.k; ++a) {
    add_rows(table + a * stride, right, stride, space.most.data());
    before[a] = log_sum(space.most.data(), stride);
  }
  std::fill(before + walk.k, before + stride, kNoScore);
  add_rows(walk.alpha + (t - 1) * stride, before, stride, space.most.data());
  lower(before, log_sum(space.most.data(), stride), stride, before);
}

/// The marginals of the edge that ends in row t, and what it adds to the entropy.
MINIMAND_INLINE double visit_edge(const LogWalk& walk, const double* table, std::size_t t,
                                  double mass, double* pairs, double* edge_pairs, LogSpace& space) {
  const std::size_t k = walk.k, stride = walk.stride;
  const double* const alpha = walk.alpha + (t - 1) * stride;
  const double* const beta = walk.beta + (t - 1) * stride;
  double* const row = space.most.data();
  double entropy = 0.0;
  for (std::size_t a = 0; a < k; ++a) {
    if (!(alpha[a] > kNoScore && beta[a] > kNoScore)) {
      if (edge_pairs != nullptr) std::fill_n(edge_pairs + a * k, k, 0.0);
      continue;
    }
    Lanes bits = {};
    for (std::size_t c = 0; c < stride; c += kLanes) {
      const Lanes on = load_lanes(table + a * stride + c) + load_lanes(space.right.data() + c);
      const Lanes p = exponential(on + same_lanes(alpha[a]));
      store_lanes(row + c, p);
      bits -= p * finite_or_zero(on - same_lanes(beta[a]));
      double* const to = pairs + a * stride + c;
      store_lanes(to, load_lanes(to) + mass * p);
    }
    entropy += sum_lanes(bits);
    if (edge_pairs != nullptr) std::copy_n(row, k, edge_pairs + a * k);
  }
  return entropy;
}

/// -sum p log p of a padded row of log p.
MINIMAND_INLINE double entropy_of(const double* x, const double* y, std::size_t stride) {
  Lanes total = {};
  for (std::size_t c = 0; c < stride; c += kLanes) {
    const Lanes power = load_lanes(x + c) + load_lanes(y + c);
    total -= exponential(power) * finite_or_zero(power);
  }
  return sum_lanes(total);
}

}  // namespace

MINIMAND_CLONES bool log_forward_kernel(const ChainScores& scores, std::size_t s, double* alpha,
                                        double* ratio, LogSpace& space, double& total) {
  const std::size_t stride = space.row.size();
  std::fill(space.row.begin(), space.row.end(), kNoScore);
  total = 0.0;
  for (std::size_t t = scores.first(s); t < scores.last(s); ++t, alpha += stride) {
    const double scale = step_forward(scores, s, t, alpha, ratio, space);
    if (!(scale > kNoScore)) return false;
    total += scale;
    if (ratio != nullptr) ratio += stride;
  }
  return true;
}

MINIMAND_CLONES void log_backward_kernel(const ChainScores& scores, std::size_t s, double mass,
                                         ChainRows& rows, const ChainSums& to, double* pairs,
                                         LogSpace& space) {
  const std::size_t k = scores.k, stride = space.row.size();
  const LogWalk walk{scores.first(s),  scores.last(s),   k, stride, rows.alpha.data(),
                     rows.beta.data(), rows.ratio.data()};
  double* const end = walk.beta + (walk.last - 1) * stride;
  std::fill_n(end, k, 0.0);
  std::fill(end + k, end + stride, kNoScore);
  double entropy = 0.0;
  for (std::size_t t = walk.last - 1; t > walk.first; --t) {
    const double* const table = edge_table(scores, t, space.table);
    step_backward(walk, table, t, space);
    double* const edge = to.edge_pairs.empty() ? nullptr : to.edge_pairs.data() + t * k * k;
    entropy += visit_edge(walk, table, t, mass, pairs, edge, space);
  }
  if (!to.edge_pairs.empty()) std::fill_n(to.edge_pairs.data() + walk.first * k * k, k * k, 0.0);
  const std::size_t begin = walk.first * stride;
  if (!to.entropy.empty()) {
    to.entropy[s] = entropy + entropy_of(walk.alpha + begin, walk.beta + begin, stride);
  }
  for (std::size_t t = walk.first; t < walk.last; ++t) {
    add_rows(walk.alpha + t * stride, walk.beta + t * stride, stride, space.most.data());
    exponentials(space.most.data(), 0.0, stride, space.most.data());
    double* const row = to.marginals.data() + t * scores.width;
    std::copy_n(space.most.data(), k, row);
    fill_up(row, k, scores.width);
  }
}

/// F_t + d_t of every row, as in scaled.cpp; the mean of the direction.
MINIMAND_CLONES double log_move_forward(const ChainScores& moves, std::size_t s,
                                        const double* alpha, const double* ratio,
                                        const double* turns, LogSpace& space) {
  const std::size_t k = moves.k, stride = space.row.size(), first = moves.first(s);
  std::fill(space.row.begin(), space.row.end(), 0.0);
  for (std::size_t t = first; t < moves.last(s); ++t) {
    double* const moved = space.moved.data() + (t - first) * stride;
    row_scores(moves, s, t, space.row.data());
    for (std::size_t c = 0; c < stride; c += kLanes) {
      Lanes come = {};
      if (t > first) {
        // log of the probability of a before c is log alpha_{t-1}(a) + table(a, c) + `given`.
        const Lanes now = load_lanes(alpha + t * stride + c);
        const Lanes given = select(now > kNoScore, load_lanes(ratio + t * stride + c) - now, now);
        for (std::size_t a = 0; a < k; ++a) {
          const Lanes table = load_lanes(space.table.data() + a * stride + c);
          const Lanes p = exponential(same_lanes(alpha[(t - 1) * stride + a]) + table + given);
          come += p * (same_lanes((moved - stride)[a]) + load_lanes(turns + a * stride + c));
        }
      }
      store_lanes(moved + c, come + load_lanes(space.row.data() + c));
    }
  }
  const double* const end = space.moved.data() + (moves.last(s) - 1 - first) * stride;
  exponentials(alpha + (moves.last(s) - 1) * stride, 0.0, stride, space.most.data());
  return dot(end, space.most.data(), stride);
}

/// The covariances with the direction, from the last row to the first.
MINIMAND_CLONES void log_move_backward(const ChainScores& moves, std::size_t s, double mass,
                                       double mean, const ChainRows& rows, const double* turns,
                                       std::span<double> marginals, double* pairs,
                                       LogSpace& space) {
  const std::size_t k = moves.k, stride = space.row.size(), first = moves.first(s);
  double* const behind = space.most.data();  // B_t
  double* const right = space.right.data();
  std::vector<double> sum(stride), before(stride);
  std::fill(behind, behind + stride, 0.0);
  for (std::size_t t = moves.last(s); t-- > first;) {
    const double* const moved = space.moved.data() + (t - first) * stride;
    const double* const alpha = rows.alpha.data() + t * stride;
    const double* const beta = rows.beta.data() + t * stride;
    for (std::size_t c = 0; c < k; ++c) {
      const double p = std::exp(alpha[c] + beta[c]);
      marginals.data()[t * moves.width + c] = mass * p * (moved[c] + behind[c] - mean);
    }
    fill_up(marginals.data() + t * moves.width, k, moves.width);
    if (t == first) return;
    row_scores(moves, s, t, space.row.data());
    add_rows(behind, space.row.data(), stride, sum.data());
    add_rows(rows.ratio.data() + t * stride, beta, stride, right);
    for (std::size_t a = 0; a < k; ++a) {
      const double come = (alpha - stride)[a], onward = (beta - stride)[a];
      before[a] = 0.0;
      if (!(come > kNoScore && onward > kNoScore)) continue;
      const double share = mass * std::exp(come + onward), own = (moved - stride)[a] - mean;
      Lanes total = {};
      for (std::size_t c = 0; c < stride; c += kLanes) {
        const Lanes table = load_lanes(space.table.data() + a * stride + c);
        const Lanes p = exponential(table + load_lanes(right + c) - same_lanes(onward));
        const Lanes there = load_lanes(sum.data() + c) + load_lanes(turns + a * stride + c);
        total += p * there;
        double* const to = pairs + a * stride + c;
        store_lanes(to, load_lanes(to) + share * (p * (there + same_lanes(own))));
      }
      before[a] = sum_lanes(total);
    }
    std::copy(before.begin(), before.end(), behind);
  }
}

LogSpace::LogSpace(const ChainScores& scores, std::size_t stride)
    : row(stride, kNoScore),
      right(stride),
      most(stride),
      table(padded_table(scores.transitions, scores.k, kNoScore)) {}

bool log_sequence(const ChainScores& scores, std::size_t s, double mass, ChainRows& rows,
                  const ChainSums& to, double* pairs, LogSpace& space) {
  const std::size_t begin = scores.first(s) * space.row.size();
  double total = 0.0;
  if (!log_forward_kernel(scores, s, rows.alpha.data() + begin, rows.ratio.data() + begin, space,
                          total)) {
    return false;
  }
  to.log_partition[s] = total;
  if (pairs != nullptr) log_backward_kernel(scores, s, mass, rows, to, pairs, space);
  return true;
}

bool log_forward(const ChainScores& scores, std::size_t s, std::span<double> alpha,
                 LogSpace& space) {
  double total = 0.0;
  return log_forward_kernel(scores, s, alpha.data(), nullptr, space, total);
}

void log_product(const ChainScores& scores, const ChainDirection& direction, std::size_t s,
                 double mass, const ChainRows& rows, std::span<double> marginals, double* pairs,
                 LogSpace& space) {
  const ChainScores moves{direction.unary, scores.offsets, direction.transitions,
                          direction.start, direction.stop, {},
                          scores.k,        scores.width};
  const std::size_t stride = space.row.size();
  const std::size_t needed = (scores.last(s) - scores.first(s)) * stride;
  if (space.moved.size() < needed) space.moved.resize(needed);
  const std::vector<double> turns = padded_table(direction.transitions, scores.k, 0.0);
  const double mean =
      log_move_forward(moves, s, rows.alpha.data(), rows.ratio.data(), turns.data(), space);
  log_move_backward(moves, s, mass, mean, rows, turns.data(), marginals, pairs, space);
}

}  // namespace minimand
