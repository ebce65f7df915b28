#include "chain/paths.hpp"

#include <algorithm>
#include <queue>
#include <tuple>
#include <vector>

#include "chain/logs.hpp"
#include "chain/parts.hpp"
#include "chain/tables.hpp"

namespace minimand {

/// Space for one sequence: scores of the best labellings that end in a label, and where they came
/// from. Scores are relative to the best one, so that long chains lose no digits.
struct BestSpace {
  std::vector<double> row, reach, from, table;
  std::vector<std::int32_t> back;
  BestSpace(const ChainScores& scores, std::size_t stride)
      : row(stride, kNoScore),
        reach(stride, kNoScore),
        from(stride),
        table(padded_table(scores.transitions, scores.k, kNoScore)) {}
};

namespace {

/// reach_c = max_a reach_a + table(a, c), and the a; the first of equal ones.
MINIMAND_INLINE void step_to_best(const double* table, std::size_t k, std::size_t stride,
                                  BestSpace& space, std::int32_t* back) {
  double* const row = space.row.data();
  double* const from = space.from.data();
  for (std::size_t c = 0; c < stride; c += kLanes) {
    Lanes best = same_lanes(kNoScore), place = {};
    for (std::size_t a = 0; a < k; ++a) {
      const Lanes score = same_lanes(space.reach.data()[a]) + load_lanes(table + a * stride + c);
      const auto better = score > best;
      best = select(better, score, best);
      place = select(better, same_lanes(static_cast<double>(a)), place);
    }
    store_lanes(row + c, load_lanes(row + c) + best);
    store_lanes(from + c, place);
  }
  for (std::size_t c = 0; c < k; ++c) back[c] = static_cast<std::int32_t>(from[c]);
}

}  // namespace

MINIMAND_CLONES double best_path_kernel(const ChainScores& scores, std::size_t s, BestSpace& space,
                                        std::int64_t* labels) {
  const std::size_t k = scores.k, stride = space.row.size();
  const std::size_t first = scores.first(s), rows = scores.last(s) - first;
  double total = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    row_scores(scores, s, first + i, space.row.data());
    std::fill(space.row.data() + k, space.row.data() + stride, kNoScore);
    if (i > 0) {
      const double* const table = edge_table(scores, first + i, space.table);
      step_to_best(table, k, stride, space, space.back.data() + i * k);
    }
    const double most = largest(space.row.data(), k);
    if (!(most > kNoScore)) {
      std::fill_n(labels, rows, std::int64_t{-1});
      return kNoScore;
    }
    total += most;
    for (std::size_t c = 0; c < stride; ++c) space.reach.data()[c] = space.row.data()[c] - most;
  }
  std::size_t label = 0;
  while (label + 1 < k && space.reach.data()[label] < 0.0) ++label;
  for (std::size_t i = rows; i-- > 0;) {
    labels[i] = static_cast<std::int64_t>(label);
    if (i > 0) label = static_cast<std::size_t>(space.back.data()[i * k + label]);
  }
  return total;
}

void best_paths(const ChainScores& scores, std::span<std::int64_t> labels,
                std::span<double> values) {
  const std::size_t stride = padded(scores.k);
  const SequenceParts parts(scores.offsets, 2 * scores.k * stride);
  std::vector<BestSpace> spaces(parts.count(), BestSpace(scores, stride));
  parts.each([&](std::size_t s, std::size_t part) {
    BestSpace& space = spaces[part];
    const std::size_t needed = (scores.last(s) - scores.first(s)) * scores.k;
    if (space.back.size() < needed) space.back.resize(needed);
    values[s] = best_path_kernel(scores, s, space, labels.data() + scores.first(s));
  });
}

namespace {

/// One of the best labellings that end in a label.
struct Entry {
  double score;
  std::int32_t label, rank;  // of the row before
};

/// The k lists of a row: list c holds sizes[c] entries from c * count on.
struct Lists {
  std::vector<Entry> entries;
  std::vector<std::size_t> sizes;
};

/// The best `count` entries of score(a, rank) = lists_a[rank] + bonus(a), in decreasing order.
template <class Bonus>
std::size_t merge(const Lists& lists, std::size_t k, std::size_t count, const Bonus& bonus,
                  Entry* to) {
  const auto later = [](const Entry& x, const Entry& y) {
    return std::tie(x.score, y.label, y.rank) < std::tie(y.score, x.label, x.rank);
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(later)> heap(later);
  const auto offer = [&](std::size_t a, std::size_t rank) {
    if (rank >= lists.sizes[a]) return;
    const double score = lists.entries[a * count + rank].score + bonus(a);
    if (score > kNoScore) {
      heap.push({score, static_cast<std::int32_t>(a), static_cast<std::int32_t>(rank)});
    }
  };
  for (std::size_t a = 0; a < k; ++a) offer(a, 0);
  std::size_t found = 0;
  while (found < count && !heap.empty()) {
    const Entry best = heap.top();
    heap.pop();
    to[found++] = best;
    offer(static_cast<std::size_t>(best.label), static_cast<std::size_t>(best.rank) + 1);
  }
  return found;
}

/// The lists of all rows of one sequence; the sum of what was subtracted from the scores.
double make_lists(const ChainScores& scores, std::size_t s, std::size_t count,
                  std::vector<Lists>& rows, BestSpace& space) {
  const std::size_t k = scores.k, stride = space.row.size(), first = scores.first(s);
  double total = 0.0;
  for (std::size_t i = 0; first + i < scores.last(s); ++i) {
    Lists& here = rows[i];
    here.entries.resize(k * count);
    here.sizes.assign(k, 0);
    row_scores(scores, s, first + i, space.row.data());
    const double* const table = i > 0 ? edge_table(scores, first + i, space.table) : nullptr;
    double most = kNoScore;
    for (std::size_t c = 0; c < k; ++c) {
      const double own = space.row[c];
      Entry* const list = here.entries.data() + c * count;
      if (!(own > kNoScore)) continue;
      if (i == 0) {
        list[0] = {own, -1, 0};
        here.sizes[c] = 1;
      } else {
        const auto bonus = [&](std::size_t a) { return table[a * stride + c] + own; };
        here.sizes[c] = merge(rows[i - 1], k, count, bonus, list);
      }
      if (here.sizes[c] > 0) most = std::max(most, list[0].score);
    }
    if (!(most > kNoScore)) continue;  // all lists are empty, and stay so
    total += most;
    for (std::size_t c = 0; c < k; ++c) {
      for (std::size_t r = 0; r < here.sizes[c]; ++r) here.entries[c * count + r].score -= most;
    }
  }
  return total;
}

}  // namespace

void best_paths(const ChainScores& scores, std::size_t count, std::span<std::int64_t> labels,
                std::span<double> values) {
  const std::size_t k = scores.k, all = scores.rows();
  const SequenceParts parts(scores.offsets, 8 * k * k * count);
  std::vector<BestSpace> spaces(parts.count(), BestSpace(scores, padded(k)));
  std::vector<std::vector<Lists>> lists(parts.count());
  parts.each([&](std::size_t s, std::size_t part) {
    std::vector<Lists>& rows = lists[part];
    const std::size_t first = scores.first(s), length = scores.last(s) - first;
    if (rows.size() < length) rows.resize(length);
    const double total = make_lists(scores, s, count, rows, spaces[part]);
    std::vector<Entry> ends(count);
    const auto none = [](std::size_t) { return 0.0; };
    const std::size_t found = merge(rows[length - 1], k, count, none, ends.data());
    for (std::size_t n = 0; n < count; ++n) {
      std::int64_t* const to = labels.data() + n * all + first;
      values[s * count + n] = n < found ? total + ends[n].score : kNoScore;
      Entry at = n < found ? ends[n] : Entry{0.0, -1, 0};
      for (std::size_t i = length; i-- > 0;) {
        to[i] = at.label;
        if (at.label < 0) continue;
        const auto label = static_cast<std::size_t>(at.label);
        at = rows[i].entries[label * count + static_cast<std::size_t>(at.rank)];
      }
    }
  });
}

namespace {

/// The place of a number u in [0, 1) among shares: the first c whose sum up to c exceeds u.
std::size_t drawn(const std::vector<double>& shares, std::size_t k, double total, double u) {
  double sum = 0.0;
  std::size_t last = 0;  // the last label that is possible, in case rounding leaves a rest
  for (std::size_t c = 0; c < k; ++c) {
    if (!(shares[c] > 0.0)) continue;
    sum += shares[c];
    last = c;
    if (sum > u * total) return c;
  }
  return last;
}

}  // namespace

MINIMAND_CLONES double shares_kernel(const double* alpha, const double* onward, std::size_t stride,
                                     double* row) {
  for (std::size_t c = 0; c < stride; ++c) row[c] = alpha[c] + onward[c];
  return exponentials(row, largest(row, stride), stride, row);
}

void sample_paths(const ChainScores& scores, std::size_t count, std::span<const double> uniform,
                  std::span<std::int64_t> labels) {
  const std::size_t k = scores.k, stride = padded(k), all = scores.rows();
  const SequenceParts parts(scores.offsets, 20 * k * stride + 20 * count * k);
  parts.each([&](std::size_t s, std::size_t) {
    LogSpace space(scores, stride);
    const std::size_t first = scores.first(s), length = scores.last(s) - first;
    std::vector<double> alpha(length * stride), row(stride), onward(stride, kNoScore);
    const bool possible = log_forward(scores, s, alpha, space);
    for (std::size_t n = 0; n < count; ++n) {
      std::int64_t* const to = labels.data() + n * all + first;
      if (!possible) {
        std::fill_n(to, length, std::int64_t{-1});
        continue;
      }
      std::fill_n(onward.begin(), k, 0.0);
      for (std::size_t i = length; i-- > 0;) {
        const double total =
            shares_kernel(alpha.data() + i * stride, onward.data(), stride, row.data());
        const std::size_t label = drawn(row, k, total, uniform[n * all + first + i]);
        to[i] = static_cast<std::int64_t>(label);
        if (i == 0) break;
        for (std::size_t a = 0; a < k; ++a) {
          onward[a] = scores.transitions[a * k + label];
          if (!scores.edges.empty()) onward[a] += scores.edges[((first + i) * k + a) * k + label];
        }
      }
    }
  });
}

}  // namespace minimand
