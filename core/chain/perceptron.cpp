#include "chain/perceptron.hpp"

#include <algorithm>
#include <vector>

#include "common/row_kernels.hpp"
#include "common/targets.hpp"
#include "common/watch.hpp"

// Which of two labellings with equal scores is the better one decides what a perceptron does next:
// the file is compiled without fused products, so that all processors give the same weights.
namespace minimand {
namespace {

/// Memory for the longest sequence, used by one after the other.
struct Buffers {
  std::vector<double> scores;        // length x k
  std::vector<double> best;          // k, of the current token
  std::vector<double> before;        // k, of the token before
  std::vector<std::uint32_t> from;   // length x k: the best label of the token before
  std::vector<std::uint32_t> found;  // length: the best labelling
};

struct Sequence {
  std::size_t begin;
  std::size_t length;
};

/// scores_t = x_t W.
template <class Matrix>
MINIMAND_INLINE void token_scores(const Matrix& matrix, Sequence s, std::span<const double> w,
                                  std::size_t k, std::span<double> scores) {
  for (std::size_t t = 0; t < s.length; ++t) {
    const auto row = row_of(matrix, s.begin + t);
    double* const __restrict z = scores.data() + t * k;
    std::fill(z, z + k, 0.0);
    for (std::size_t e = 0; e < row.size(); ++e) {
      const double x = row.value(e);
      const double* const __restrict weights = w.data() + row.column(e) * k;
      for (std::size_t c = 0; c < k; ++c) z[c] += x * weights[c];
    }
  }
}

/// The best labelling, written to `found`, and its score; of equal ones that of smaller labels.
MINIMAND_INLINE double best_labelling(const LabelledChains& chains, std::span<const double> edges,
                                      std::size_t length, Buffers& buffers) {
  const std::size_t k = chains.k;
  const double* const fixed = chains.fixed.data();
  const double* const start = edges.data() + k * k;
  const double* const stop = start + k;
  double* const best = buffers.best.data();
  double* const before = buffers.before.data();
  for (std::size_t c = 0; c < k; ++c) {
    best[c] = buffers.scores[c] + (start[c] + fixed[k * k + c]);
  }
  for (std::size_t t = 1; t < length; ++t) {
    std::copy(best, best + k, before);
    std::uint32_t* const from = buffers.from.data() + t * k;
    for (std::size_t c = 0; c < k; ++c) {
      best[c] = before[0] + (edges[c] + fixed[c]);
      from[c] = 0;
    }
    for (std::size_t a = 1; a < k; ++a) {
      for (std::size_t c = 0; c < k; ++c) {
        const double score = before[a] + (edges[a * k + c] + fixed[a * k + c]);
        from[c] = score > best[c] ? static_cast<std::uint32_t>(a) : from[c];
        best[c] = score > best[c] ? score : best[c];
      }
    }
    for (std::size_t c = 0; c < k; ++c) best[c] += buffers.scores[t * k + c];
  }
  std::size_t last = 0;
  for (std::size_t c = 0; c < k; ++c) {
    best[c] += stop[c] + fixed[k * k + k + c];
    if (best[c] > best[last]) last = c;
  }
  const double value = best[last];
  for (std::size_t t = length; t-- > 0;) {
    buffers.found[t] = static_cast<std::uint32_t>(last);
    if (t > 0) last = buffers.from[t * k + last];
  }
  return value;
}

/// The score of the given labels.
MINIMAND_INLINE double score_of(std::span<const std::int64_t> labels, std::span<const double> edges,
                                std::size_t k, const Buffers& buffers) {
  double sum = edges[k * k + static_cast<std::size_t>(labels.front())] +
               edges[k * k + k + static_cast<std::size_t>(labels.back())];
  for (std::size_t t = 0; t < labels.size(); ++t) {
    const auto c = static_cast<std::size_t>(labels[t]);
    sum += buffers.scores[t * k + c];
    if (t > 0) sum += edges[static_cast<std::size_t>(labels[t - 1]) * k + c];
  }
  return sum;
}

/// Adds to single weights, and keeps the change of their sum of squares.
struct Change {
  std::span<double> now;
  std::span<double> lag;
  double count;
  double squares = 0.0;

  MINIMAND_INLINE void add(std::size_t place, double amount) {
    const double old = now[place];
    now[place] = old + amount;
    lag[place] += count * amount;
    squares += amount * (2.0 * old + amount);
  }
};

/// w += step (phi(x, y) - phi(x, c)), for the labels y and the labelling c that was found.
template <class Matrix>
MINIMAND_INLINE void update(const Matrix& matrix, Sequence s, const LabelledChains& chains,
                            std::span<const std::int64_t> labels, const Buffers& buffers,
                            double step, Change& change) {
  const std::size_t k = chains.k;
  const std::size_t edges = change.now.size() - k * k - 2 * k;
  std::size_t y_before = 0, c_before = 0;
  for (std::size_t t = 0; t < s.length; ++t) {
    const auto y = static_cast<std::size_t>(labels[t]);
    const std::size_t c = buffers.found[t];
    if (y != c) {
      const auto row = row_of(matrix, s.begin + t);
      for (std::size_t e = 0; e < row.size(); ++e) {
        const double amount = step * row.value(e);
        change.add(row.column(e) * k + y, amount);
        change.add(row.column(e) * k + c, -amount);
      }
    }
    if (t > 0 && (y != c || y_before != c_before)) {
      change.add(edges + y_before * k + y, step);
      change.add(edges + c_before * k + c, -step);
    }
    if (chains.ends && y != c && t == 0) {
      change.add(edges + k * k + y, step);
      change.add(edges + k * k + c, -step);
    }
    if (chains.ends && y != c && t + 1 == s.length) {
      change.add(edges + k * k + k + y, step);
      change.add(edges + k * k + k + c, -step);
    }
    y_before = y;
    c_before = c;
  }
}

template <class Matrix>
MINIMAND_INLINE PerceptronReport pass_over(const Matrix& matrix, const LabelledChains& chains,
                                           std::span<const std::uint32_t> order,
                                           AveragedWeights weights, Buffers& buffers) {
  PerceptronReport report{weights.count, 0, 0, 0, 0.0};
  const std::size_t k = chains.k;
  const auto edges = weights.now.last(k * k + 2 * k);
  for (const std::uint32_t i : order) {
    if (stopping()) break;
    const auto begin = static_cast<std::size_t>(chains.offsets[i]);
    const Sequence s{begin, static_cast<std::size_t>(chains.offsets[i + 1]) - begin};
    const auto labels = chains.labels.subspan(s.begin, s.length);
    token_scores(matrix, s, weights.now, k, buffers.scores);
    const double found = best_labelling(chains, edges, s.length, buffers);
    std::int64_t wrong = 0;
    for (std::size_t t = 0; t < s.length; ++t) wrong += labels[t] != buffers.found[t];
    if (wrong > 0) {
      const double step = chains.steps[i];
      const double slope = score_of(labels, edges, k, buffers) - found;
      Change change{weights.now, weights.lag, report.count};
      update(matrix, s, chains, labels, buffers, step, change);
      if (step > 0.0) {  // |w + step f|^2 - |w|^2 = 2 step w.f + step^2 |f|^2
        report.radius = std::max(report.radius, (change.squares / step - 2.0 * slope) / step);
      }
      ++report.wrong;
      report.wrong_tokens += wrong;
    }
    ++report.visited;
    report.count += 1.0;
  }
  return report;
}

#define MINIMAND_PASS(Matrix)                                                               \
  MINIMAND_CLONES PerceptronReport pass(const Matrix& matrix, const LabelledChains& chains, \
                                        std::span<const std::uint32_t> order,               \
                                        AveragedWeights weights, Buffers& buffers) {        \
    return pass_over(matrix, chains, order, weights, buffers);                              \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_PASS)
#undef MINIMAND_PASS

}  // namespace

template <class Matrix>
PerceptronReport perceptron_pass(const Matrix& matrix, const LabelledChains& chains,
                                 std::span<const std::uint32_t> order, AveragedWeights weights) {
  std::size_t longest = 0;
  for (std::size_t i = 0; i + 1 < chains.offsets.size(); ++i) {
    longest =
        std::max(longest, static_cast<std::size_t>(chains.offsets[i + 1] - chains.offsets[i]));
  }
  Buffers buffers{std::vector<double>(longest * chains.k), std::vector<double>(chains.k),
                  std::vector<double>(chains.k), std::vector<std::uint32_t>(longest * chains.k),
                  std::vector<std::uint32_t>(longest)};
  return pass(matrix, chains, order, weights, buffers);
}

#define MINIMAND_INSTANTIATE(Matrix)                                              \
  template PerceptronReport perceptron_pass(const Matrix&, const LabelledChains&, \
                                            std::span<const std::uint32_t>, AveragedWeights);
MINIMAND_FOR_EACH_ROWS(MINIMAND_INSTANTIATE)
#undef MINIMAND_INSTANTIATE

}  // namespace minimand
