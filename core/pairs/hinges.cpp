#include "pairs/hinges.hpp"

#include <algorithm>
#include <vector>

#include "common/parallel.hpp"
#include "common/targets.hpp"

namespace minimand {
namespace {

/// Levels up to which the sums below every one of them are kept as they are; safeguard: an update
/// of so many takes a few vector instructions.
constexpr std::size_t kFewLevels = 16;

struct Tally {
  double count, sum;
};

/// Numbers and sums of scores by level: below any level, in O(1) for few levels, else O(log).
struct ScoreSums {
  std::vector<Tally> nodes;
  std::size_t levels = 0;

  void clear(std::size_t size) {
    levels = size;
    nodes.assign(size + 1, Tally{0.0, 0.0});
  }
  MINIMAND_INLINE void add(std::size_t level, double score) {
    Tally* const __restrict at = nodes.data();
    if (levels <= kFewLevels) {
      for (std::size_t above = level + 1; above < levels; ++above) {
        at[above].count += 1.0;
        at[above].sum += score;
      }
      return;
    }
    for (std::size_t node = level + 1; node <= levels; node += node & (~node + 1)) {
      at[node].count += 1.0;
      at[node].sum += score;
    }
  }
  MINIMAND_INLINE Tally below(std::size_t level) const {
    const Tally* const at = nodes.data();
    if (levels <= kFewLevels) return at[level];
    Tally total{0.0, 0.0};
    for (std::size_t node = level; node > 0; node &= node - 1) {
      total.count += at[node].count;
      total.sum += at[node].sum;
    }
    return total;
  }
};

/// The sums of one run after the other; its rows are copied in the order of their scores.
struct RunHinges {
  const PairRows& rows;
  const PairHinges& found;
  ScoreSums sums;
  std::vector<double> z, count_up, sum_up;
  std::vector<std::size_t> level, by_level;

  /// Pairs of the run with different levels, at least 1.
  double pairs(std::size_t size) {
    by_level.assign(size, 0);
    for (const std::size_t one : level) ++by_level[one];
    double total = 0.0, lower = 0.0;
    for (const std::size_t here : by_level) {
      total += lower * static_cast<double>(here);
      lower += static_cast<double>(here);
    }
    return std::max(total, 1.0);
  }

  MINIMAND_INLINE void run(std::span<const std::uint32_t> order, std::size_t q) {
    const std::size_t count = order.size();
    z.resize(count), level.resize(count), count_up.resize(count), sum_up.resize(count);
    // Sums of differences do not change when a constant is subtracted from all scores. Relative to
    // the middle one, they are rounded by the spread of the scores, not by their size.
    const double base = rows.z[order[count / 2]], margin = rows.margin;
    std::size_t top = 0;
    for (std::size_t a = 0; a < count; ++a) {
      z[a] = rows.z[order[a]] - base;
      level[a] = static_cast<std::size_t>(rows.level[order[a]]);
      top = std::max(top, level[a]);
    }
    const double share = 1.0 / pairs(top + 1);
    sums.clear(top + 1);
    for (std::size_t a = 0, met = 0; a < count; ++a) {  // scores fall: ever more reach the margin
      for (; met < count && z[a] - z[met] < margin; ++met) sums.add(level[met], z[met]);
      const Tally up = sums.below(level[a]);
      count_up[a] = up.count, sum_up[a] = up.sum;
    }
    sums.clear(top + 1);
    double square = 0.0, linear = 0.0;
    for (std::size_t a = count, met = count; a-- > 0;) {  // scores rise, and levels are reversed
      for (; met > 0 && z[met - 1] - z[a] < margin; --met) {
        sums.add(top - level[met - 1], z[met - 1]);
      }
      const Tally down = sums.below(top - level[a]);
      const double above = count_up[a], degree = above + down.count, balance = down.count - above;
      const double spread = degree * z[a] - (sum_up[a] + down.sum);
      // h^2 = c^2 - 2 c m + m^2, and the sums of m and of m^2 are -balance z and z spread.
      square += margin * (0.5 * margin * above + balance * z[a]) + 0.5 * spread * z[a];
      linear += margin * above + balance * z[a];
      const std::uint32_t row = order[a];
      found.slope[row] = share * (spread + margin * balance);
      found.balance[row] = share * balance;
      found.degrees[row] = degree;
    }
    found.square[q] = std::max(share * square, 0.0);
    found.linear[q] = std::max(share * linear, 0.0);
  }
};

MINIMAND_CLONES void run_kernel(RunHinges& hinges, std::span<const std::uint32_t> order,
                                std::size_t q) {
  hinges.run(order, q);
}

}  // namespace

void hinge_pairs(const PairRows& rows, std::span<const std::uint32_t> order,
                 const PairHinges& found) {
  parallel_ranges(rows.units.size() - 1, 16 * rows.z.size(), [&](Range range, std::size_t) {
    RunHinges hinges{rows, found, {}, {}, {}, {}, {}, {}};
    for (std::size_t q = range.begin; q < range.end; ++q) {
      run_kernel(hinges, of_run(order, rows.units, q), q);
    }
  });
}

}  // namespace minimand
