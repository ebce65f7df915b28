#include "trees/forest.hpp"

#include <algorithm>

#include "common/parallel.hpp"
#include "common/watch.hpp"
#include "trees/messages.hpp"

namespace minimand {
namespace {

/// The place of the first largest of k numbers.
MINIMAND_INLINE std::size_t largest(const double* values, std::size_t k) {
  std::size_t best = 0;
  for (std::size_t a = 1; a < k; ++a) best = values[a] > values[best] ? a : best;
  return best;
}

/// Work space of one thread; `inside` holds a row per node of the group that it is at.
struct Scratch {
  std::vector<double> inside, messages, table, total, row, one;
};

MINIMAND_CLONES void max_messages(const double* inside, const double* table, std::size_t k,
                                  double* message) {
  greatest(inside, table, k, message);
}

MINIMAND_CLONES void sum_messages(const double* inside, const double* table, std::size_t k,
                                  double* total, double* message) {
  log_sums(inside, table, k, total, message);
}

/// The joint distribution of a node and its parent: rows of labels of the node, in `joint`, and
/// the sums of the rows in `marginal`.
MINIMAND_CLONES void spread(const double* inside, const double* table, const double* message,
                            const double* parent, std::size_t k, double* joint, double* marginal) {
  for (std::size_t a = 0; a < k; ++a) {
    double* const row = joint + a * k;
    if (inside[a] == kNever) {
      for (std::size_t b = 0; b < k; ++b) row[b] = 0.0;
      marginal[a] = 0.0;
      continue;
    }
    marginal[a] = add_exponentials(inside[a], table + a * k, message, parent, k, row);
  }
}

/// Passes messages from the leaves of a group to its roots.
///
/// inside[v][a] is the sum or maximum over all labels below v, if v has label a; messages[v] is
/// what v told its parent (which adds it less its largest number), and 0 for an impossible label.
class Upward {
 public:
  Upward(const ForestScores& scores, const ParentTables& tables, Scratch& scratch)
      : scores_(scores), tables_(tables), scratch_(scratch) {}

  /// Returns what was taken off the messages: they would grow with the tree, and lose digits.
  double run(std::size_t from, std::size_t to, bool sums) {
    const std::size_t k = scores_.k;
    double taken = 0.0;
    scratch_.inside.assign(scores_.unary.begin() + static_cast<std::ptrdiff_t>(from * k),
                           scores_.unary.begin() + static_cast<std::ptrdiff_t>(to * k));
    if (sums) scratch_.messages.assign((to - from) * k, 0.0);
    scratch_.total.resize(k);
    scratch_.row.resize(k);
    for (std::size_t at = to; at-- > from;) {
      const auto v = static_cast<std::size_t>(scores_.order[at]);
      if (scores_.parent[v] < 0) continue;
      const auto p = static_cast<std::size_t>(scores_.parent[v]);
      const double* const inside = scratch_.inside.data() + (v - from) * k;
      const double* const table = tables_.of(v, scratch_.table);
      double* const message = scratch_.row.data();
      if (sums) {
        sum_messages(inside, table, k, scratch_.total.data(), message);
        double* const kept = scratch_.messages.data() + (v - from) * k;
        for (std::size_t b = 0; b < k; ++b) kept[b] = message[b] == kNever ? 0.0 : message[b];
      } else {
        max_messages(inside, table, k, message);
      }
      double* const above = scratch_.inside.data() + (p - from) * k;
      const double top = message[largest(message, k)];
      const double shift = top == kNever ? 0.0 : top;
      for (std::size_t b = 0; b < k; ++b) above[b] += message[b] - shift;
      taken += shift;
    }
    return taken;
  }

 private:
  const ForestScores& scores_;
  const ParentTables& tables_;
  Scratch& scratch_;
};

/// Shifts k numbers to a distribution; returns the log of the sum of their exponentials.
double normalise(const double* inside, std::size_t k, double* marginal) {
  const double top = inside[largest(inside, k)];
  const double shift = top == kNever ? 0.0 : top;
  double sum = 0.0;
  for (std::size_t a = 0; a < k; ++a) sum += marginal[a] = std::exp(inside[a] - shift);
  for (std::size_t a = 0; a < k; ++a) marginal[a] /= sum;
  return shift + std::log(sum);
}

/// Calls f(first node, last node, group, scratch) for all groups, on several threads.
template <class Function>
void for_groups(const ForestScores& scores, std::size_t each, const Function& f) {
  const std::size_t groups = scores.starts.size() - 1;
  const std::size_t work = scores.nodes() * scores.k * scores.k * each;
  const std::size_t parts = part_count(groups, work);
  GiveUp give_up;
  run_parts(balanced_splits(scores.starts, parts), [&](Range range, std::size_t part) {
    Scratch scratch;
    for (std::size_t g = range.begin; g < range.end; ++g) {
      if (give_up.leaves(part)) return;
      f(static_cast<std::size_t>(scores.starts[g]), static_cast<std::size_t>(scores.starts[g + 1]),
        g, scratch);
    }
  });
  give_up.throw_if_left();
}

}  // namespace

void forest_best(const ForestScores& scores, std::span<std::int32_t> labels,
                 std::span<double> values) {
  const std::size_t k = scores.k;
  const ParentTables tables(scores);
  for_groups(scores, 1, [&](std::size_t from, std::size_t to, std::size_t g, Scratch& scratch) {
    values[g] = Upward(scores, tables, scratch).run(from, to, false);
    for (std::size_t at = from; at < to; ++at) {
      const auto v = static_cast<std::size_t>(scores.order[at]);
      double* const inside = scratch.inside.data() + (v - from) * k;
      if (scores.parent[v] < 0) {
        const std::size_t best = largest(inside, k);
        values[g] += inside[best];
        labels[v] = static_cast<std::int32_t>(best);
        continue;
      }
      const double* const table = tables.of(v, scratch.table);
      const auto b = static_cast<std::size_t>(labels[static_cast<std::size_t>(scores.parent[v])]);
      for (std::size_t a = 0; a < k; ++a) inside[a] += table[a * k + b];
      labels[v] = static_cast<std::int32_t>(largest(inside, k));
    }
  });
}

void forest_sums(const ForestScores& scores, const ForestMarginals& out) {
  const std::size_t k = scores.k, groups = scores.starts.size() - 1;
  const ParentTables tables(scores);
  const bool totals = !out.total.empty();
  const std::size_t work = scores.nodes() * k * k * 8;
  const std::size_t parts = part_count(groups, work, totals ? k * k : 0);
  if (totals) std::fill(out.total.begin(), out.total.end(), 0.0);
  PrivateSums sums(out.total, parts);
  GiveUp give_up;
  run_parts(balanced_splits(scores.starts, parts), [&](Range range, std::size_t part) {
    Scratch scratch;
    std::vector<double> joint(k * k), own;
    const std::span<double> total = totals ? sums.of(part) : std::span<double>();
    for (std::size_t g = range.begin; g < range.end; ++g) {
      if (give_up.leaves(part)) return;
      const auto from = static_cast<std::size_t>(scores.starts[g]);
      const auto to = static_cast<std::size_t>(scores.starts[g + 1]);
      double value = Upward(scores, tables, scratch).run(from, to, true);
      own.resize((to - from) * k);
      for (std::size_t at = from; at < to; ++at) {
        const auto v = static_cast<std::size_t>(scores.order[at]);
        const double* const inside = scratch.inside.data() + (v - from) * k;
        double* const marginal = own.data() + (v - from) * k;
        if (scores.parent[v] < 0) {
          value += normalise(inside, k, marginal);
          continue;
        }
        if (out.nodes.empty() && out.edges.empty() && !totals) continue;
        const auto p = static_cast<std::size_t>(scores.parent[v]);
        spread(inside, tables.of(v, scratch.table), scratch.messages.data() + (v - from) * k,
               own.data() + (p - from) * k, k, joint.data(), marginal);
        const bool first = tables.is_first(v);
        const auto put = [&](double* to_edge, double factor) {
          for (std::size_t a = 0; a < k; ++a) {
            for (std::size_t b = 0; b < k; ++b) {
              to_edge[first ? a * k + b : b * k + a] += factor * joint[a * k + b];
            }
          }
        };
        if (!out.edges.empty()) {
          put(out.edges.data() + static_cast<std::size_t>(scores.link[v]) * k * k, 1.0);
        }
        if (totals) put(total.data(), out.mass[g]);
      }
      if (!out.log_partition.empty()) out.log_partition[g] = value;
      if (!out.nodes.empty()) {
        std::copy(own.begin(), own.end(),
                  out.nodes.begin() + static_cast<std::ptrdiff_t>(from * k));
      }
    }
  });
  give_up.throw_if_left();
  if (totals) sums.add_up();
}

void forest_samples(const ForestScores& scores, std::span<const double> uniform,
                    std::span<std::int32_t> labels) {
  const std::size_t k = scores.k;
  const ParentTables tables(scores);
  for_groups(scores, 8, [&](std::size_t from, std::size_t to, std::size_t, Scratch& scratch) {
    Upward(scores, tables, scratch).run(from, to, true);
    scratch.one.resize(k);
    for (std::size_t at = from; at < to; ++at) {
      const auto v = static_cast<std::size_t>(scores.order[at]);
      double* const inside = scratch.inside.data() + (v - from) * k;
      if (scores.parent[v] >= 0) {
        const double* const table = tables.of(v, scratch.table);
        const auto b = static_cast<std::size_t>(labels[static_cast<std::size_t>(scores.parent[v])]);
        for (std::size_t a = 0; a < k; ++a) inside[a] += table[a * k + b];
      }
      normalise(inside, k, scratch.one.data());
      double left = uniform[v];
      std::size_t drawn = 0, last = 0;
      for (std::size_t a = 0; a < k; ++a) {
        if (scratch.one[a] > 0.0) last = a;
      }
      while (drawn < last && left >= scratch.one[drawn]) left -= scratch.one[drawn++];
      labels[v] = static_cast<std::int32_t>(drawn);
    }
  });
}

}  // namespace minimand
