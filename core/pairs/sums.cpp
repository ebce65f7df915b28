#include "pairs/sums.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/parallel.hpp"
#include "common/targets.hpp"

namespace minimand {
namespace {

/// Counts and sums of values by level, of which the sum below any level takes O(log levels) steps.
struct LevelSums {
  std::size_t levels, m;
  std::vector<double> counts, values;  // of node 1 .. levels

  explicit LevelSums(std::size_t width) : levels(0), m(width) {}

  void clear(std::size_t size) {
    levels = size;
    counts.assign(size + 1, 0.0);
    values.assign((size + 1) * m, 0.0);
  }
  MINIMAND_INLINE void add(std::size_t level, const double* value, const double* base) {
    for (std::size_t node = level + 1; node <= levels; node += node & (~node + 1)) {
      counts.data()[node] += 1.0;
      double* const __restrict to = values.data() + node * m;
      for (std::size_t c = 0; c < m; ++c) to[c] += value[c] - base[c];
    }
  }
  /// Adds the values of levels below `level` to `result`; their count.
  MINIMAND_INLINE double below(std::size_t level, double* __restrict result) const {
    double count = 0.0;
    for (std::size_t node = level; node > 0; node &= node - 1) {
      count += counts.data()[node];
      const double* const from = values.data() + node * m;
      for (std::size_t c = 0; c < m; ++c) result[c] += from[c];
    }
    return count;
  }
};

/// The sums of one run.
struct RunSums {
  const PairRows& rows;
  const double* values;
  double* above;
  double* below;
  double* sums;  // first of the partners' values, in the end of the differences; all minus a base
  LevelSums levels;

  MINIMAND_INLINE void run(std::span<const std::uint32_t> order) {
    const double* const z = rows.z.data();
    const std::int32_t* const level = rows.level.data();
    std::int32_t top = 0;
    for (const std::uint32_t i : order) top = level[i] > top ? level[i] : top;
    const std::size_t count = order.size(), size = static_cast<std::size_t>(top) + 1;
    // Differences do not change when a constant is subtracted from all values. Relative to those of
    // a row in the middle, sums are rounded by the spread of the values, not by their size.
    const double* const base = values + order[count / 2] * levels.m;
    levels.clear(size);
    for (std::size_t a = 0, met = 0; a < count; ++a) {  // scores fall: ever more reach the margin
      const std::uint32_t i = order[a];
      for (; met < count && z[i] - z[order[met]] < rows.margin; ++met) {
        levels.add(static_cast<std::size_t>(level[order[met]]), values + order[met] * levels.m,
                   base);
      }
      above[i] = levels.below(static_cast<std::size_t>(level[i]), sums + i * levels.m);
    }
    levels.clear(size);
    for (std::size_t a = count, met = count; a-- > 0;) {  // scores rise, and levels are reversed
      const std::uint32_t j = order[a];
      for (; met > 0 && z[order[met - 1]] - z[j] < rows.margin; --met) {
        const std::uint32_t i = order[met - 1];
        levels.add(static_cast<std::size_t>(top - level[i]), values + i * levels.m, base);
      }
      below[j] = levels.below(static_cast<std::size_t>(top - level[j]), sums + j * levels.m);
    }
    for (const std::uint32_t i : order) {
      const double degree = above[i] + below[i];
      const double* const own = values + i * levels.m;
      double* const __restrict out = sums + i * levels.m;
      for (std::size_t c = 0; c < levels.m; ++c) out[c] = degree * (own[c] - base[c]) - out[c];
    }
  }
};

MINIMAND_CLONES void run_kernel(RunSums& sums, std::span<const std::uint32_t> order) {
  sums.run(order);
}

}  // namespace

void order_pairs(std::span<const double> z, std::span<const std::int64_t> units,
                 std::span<std::uint32_t> order) {
  parallel_ranges(units.size() - 1, 16 * z.size(), [&](Range range, std::size_t) {
    std::vector<std::pair<double, std::uint32_t>> rows;  // minus the score, and the row
    for (std::size_t q = range.begin; q < range.end; ++q) {
      const auto from = static_cast<std::size_t>(units[q]),
                 to = static_cast<std::size_t>(units[q + 1]);
      rows.clear();
      for (std::size_t i = from; i < to; ++i)
        rows.emplace_back(-z[i], static_cast<std::uint32_t>(i));
      std::sort(rows.begin(), rows.end());
      for (std::size_t i = from; i < to; ++i) order[i] = rows[i - from].second;
    }
  });
}

void sum_pairs(const PairRows& rows, std::span<const std::uint32_t> order,
               std::span<const double> values, std::span<double> above, std::span<double> below,
               std::span<double> differences) {
  const std::size_t n = rows.z.size(), m = n > 0 ? values.size() / n : 0;
  std::fill(differences.begin(), differences.end(), 0.0);
  parallel_ranges(rows.units.size() - 1, 8 * n * (m + 2), [&](Range range, std::size_t) {
    RunSums run{rows, values.data(), above.data(), below.data(), differences.data(), LevelSums(m)};
    for (std::size_t q = range.begin; q < range.end; ++q) {
      run_kernel(run, of_run(order, rows.units, q));
    }
  });
}

}  // namespace minimand
