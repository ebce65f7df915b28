#pragma once

#include <cmath>

#include "clusters/panels.hpp"

// The inner loop of a search. Every row has an upper bound of the distance from its own centre, a
// lower bound of those from all others, and one for every group of centres (Hamerly 2010; Ding and
// others 2015). A row is looked at only if its bounds cross. Rows in doubt are collected first, so
// that the scores of each group are computed for many rows at once.
namespace minimand {

inline constexpr std::size_t kMostGroups = 16;  // safeguard: a cache line of bounds for every row
inline constexpr std::size_t kDoubtful = 96;    // rows scored together; safeguard: fits a cache
inline constexpr float kUp = 1.0f + 4e-7f;      // factor that covers the rounding of a float sum
inline constexpr float kDown = 1.0f - 4e-7f;

/// What is known of all rows, and of the centres.
template <class Matrix>
struct SearchState {
  using Scalar = ScalarOf<Matrix>;

  const Matrix& matrix;
  std::span<const double> factors;
  std::span<const double> squares;  // |f x|^2 around the middle; and |c|^2 where factors are given
  std::span<const float> sizes;     // |x|, at least
  std::span<std::int32_t> labels;
  std::span<float> upper, lower, by_group;

  // The centres
  std::size_t length;
  std::span<const double> centers;
  std::span<const double> wholes;  // distances of centres from 0
  const Panels<Scalar>& panels;
  std::size_t groups, panels_of_group;
  std::span<const std::uint8_t> group_of;
  std::span<const float> shifts;     // how far every centre went, at least
  std::span<const float> half_gaps;  // half the distance to the nearest other centre, at most
  float fall;                        // the largest shift
  std::span<const double> drifts;    // the sum of the largest shifts of every group so far

  // Rounding: see `error_of`
  double unit, direct_unit, largest_center, largest_offset;
  bool first, remember;

  MINIMAND_INLINE double factor(std::size_t row) const {
    return factors.empty() ? 1.0 : factors.data()[row];
  }
  MINIMAND_INLINE const double* center(std::int32_t c) const {
    return centers.data() + static_cast<std::size_t>(c) * length;
  }
};

/// Rows in doubt, and what is found out about them.
template <class Scalar>
struct DoubtfulRows {
  static constexpr std::size_t kRoom = kDoubtful + 8;  // lists are filled up to whole tiles
  std::size_t count = 0;
  std::uint32_t rows[kDoubtful];
  double own[kDoubtful];            // direct distance from the own centre
  std::uint32_t doubts[kDoubtful];  // a bit for every group
  Scalar best[kDoubtful];
  std::int32_t nearest[kDoubtful];
  Scalar scores[kDoubtful][kMostGroups];
  std::uint32_t places[kRoom], listed[kRoom];
  Leader<Scalar> leaders[kRoom];
  std::size_t moved = 0, compared = 0;
};

/// An upper bound of the rounding error of a score. A sum of d products with unit rounding u has an
/// error of at most (d + 1) u |x| |c|; centres and offsets are rounded, too.
template <class Matrix>
MINIMAND_INLINE double error_of(const SearchState<Matrix>& state, std::size_t row) {
  return state.unit * (static_cast<double>(state.sizes.data()[row]) * state.largest_center +
                       state.largest_offset);
}

/// The distance that a direct distance proves at most.
template <class Metric, class Matrix>
MINIMAND_INLINE float at_most(const SearchState<Matrix>& state, std::size_t row, double direct) {
  double far = direct * (1.0 + state.direct_unit);
  if (!state.factors.empty() || RowOf<Matrix>::kSparse) {
    const double size = state.factors.empty() ? static_cast<double>(state.sizes.data()[row]) : 1.0;
    const double whole = size + state.largest_center;
    far += state.direct_unit * (Metric::kSquared ? whole * whole : whole);
  }
  return static_cast<float>(Metric::kSquared ? std::sqrt(far) : far) * kUp;
}

/// The distance that a score proves at least.
template <class Metric, class Matrix>
MINIMAND_INLINE double at_least(const SearchState<Matrix>& state, std::size_t row, double score) {
  const double error = error_of(state, row);
  if constexpr (Metric::kSquared) {
    const double square = state.squares.data()[row];
    const double least = square * (1.0 - state.direct_unit) -
                         2.0 * state.factor(row) * (score + error);
    return least > 0.0 ? std::sqrt(least) * (1.0 - 1e-15) : 0.0;
  } else {
    const double least = -score * (1.0 - state.unit) - error;
    return least > 0.0 ? least : 0.0;
  }
}

/// Lets the bounds of a row follow the centres; whether the row is in doubt.
template <class Metric, class Matrix, class Block>
MINIMAND_INLINE bool is_doubtful(const SearchState<Matrix>& state, std::size_t i, Block& block) {
  const auto label = static_cast<std::size_t>(state.labels.data()[i]);
  float* const upper = state.upper.data() + i;
  float* const lower = state.lower.data() + i;
  *upper = (*upper + state.shifts.data()[label]) * kUp;
  const float low = *lower - state.fall;
  *lower = low > 0.0f ? low * kDown : 0.0f;
  const float gap = state.half_gaps.data()[label];
  const float enough = *lower > gap ? *lower : gap;
  if (*upper <= enough) return false;
  const double own = direct<Metric>(row_of(state.matrix, i), state.factor(i),
                                    state.center(state.labels.data()[i]),
                                    state.wholes.data()[label]);
  *upper = at_most<Metric>(state, i, own);
  if (*upper <= enough) return false;
  // Which groups?
  std::uint32_t doubts = 0;
  double least = std::numeric_limits<double>::infinity();
  const float* const bounds = state.by_group.data() + i * state.groups;
  for (std::size_t g = 0; g < state.groups; ++g) {
    const double bound = static_cast<double>(bounds[g]) - state.drifts.data()[g];
    if (bound < static_cast<double>(*upper)) doubts |= 1u << g;
    least = bound < least ? bound : least;
  }
  if (doubts == 0) {
    *lower = static_cast<float>(least) * kDown;
    return false;
  }
  block.own[block.count] = own;
  block.doubts[block.count] = doubts;
  return true;
}

/// Scores one group for the rows in doubt about it: those of which it holds the own centre, which
/// is left out, or the others.
template <class Metric, bool kOwn, class Matrix, class Scalar>
MINIMAND_INLINE void score_group(const SearchState<Matrix>& state, DoubtfulRows<Scalar>& block,
                                 std::size_t group) {
  constexpr std::size_t kRows = TypesOf<Matrix>::kRows;
  std::size_t count = 0;
  for (std::size_t b = 0; b < block.count; ++b) {
    if (!(block.doubts[b] >> group & 1u)) continue;
    const std::int32_t label = state.first ? -1 : state.labels.data()[block.rows[b]];
    const bool holds_own = label >= 0 && state.group_of.data()[label] == group;
    if (holds_own != kOwn) continue;
    block.places[count] = static_cast<std::uint32_t>(b);
    block.listed[count] = block.rows[b];
    block.leaders[count].best = kWorst<Scalar> - Values<Scalar>{};
    block.leaders[count].number = Numbers<Scalar>{};
    ++count;
  }
  if (count == 0) return;
  for (std::size_t c = count; c % kRows != 0; ++c) {
    block.listed[c] = block.listed[count - 1];
    block.leaders[c] = block.leaders[count - 1];
  }
  const std::size_t begin = group * state.panels_of_group;
  const std::size_t end = std::min(begin + state.panels_of_group, state.panels.count());
  for (std::size_t p = begin; p < end; ++p) {
    const Numbers<Scalar> low = numbers_from<Scalar>(p * kPanel<Scalar>);
    const Numbers<Scalar> high = numbers_from<Scalar>(p * kPanel<Scalar> + kWide<Scalar>);
    for (std::size_t c = 0; c < count; c += kRows) {
      ScoreTile<Scalar, kRows> tile;
      score<Metric>(state.matrix, block.listed + c, state.panels.entries(p),
                    state.panels.offsets(p), tile);
#pragma GCC unroll 6
      for (std::size_t r = 0; r < kRows; ++r) {
        if constexpr (kOwn) {
          const std::int32_t own = state.labels.data()[block.listed[c + r]];
          const Numbers<Scalar> without = own + Numbers<Scalar>{};
          const Values<Scalar> worst = kWorst<Scalar> - Values<Scalar>{};
          tile.low[r] = low == without ? worst : tile.low[r];
          tile.high[r] = high == without ? worst : tile.high[r];
        }
        block.leaders[c + r].meet(tile.low[r], low);
        block.leaders[c + r].meet(tile.high[r], high);
      }
    }
  }
  for (std::size_t c = 0; c < count; ++c) {
    const std::uint32_t b = block.places[c];
    const Scalar best = greatest<Scalar>(block.leaders[c].best);
    block.scores[b][group] = best;
    if (best > block.best[b]) {
      block.best[b] = best;
      block.nearest[b] = holder_of(block.leaders[c], best);
    }
  }
  block.compared += count;
}

/// Gives a row the best centre that was found, unless its own is as near, and sets its bounds.
template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE void settle(const SearchState<Matrix>& state, DoubtfulRows<Scalar>& block,
                            std::size_t b) {
  const std::size_t i = block.rows[b];
  const std::int32_t before = state.labels.data()[i], found = block.nearest[b];
  double own = block.own[b], left = -1.0;
  std::int32_t label = before;
  if (state.first || (found >= 0 && at_least<Metric>(state, i, static_cast<double>(
                                                                  block.best[b])) <=
                                        static_cast<double>(state.upper.data()[i]))) {
    const double other =
        direct<Metric>(row_of(state.matrix, i), state.factor(i), state.center(found),
                       state.wholes.data()[found]);
    // Decided by direct distances, so that rounding cannot move a row to and fro for ever.
    if (state.first || other < own || (other == own && found < before)) {
      left = state.first ? -1.0 : own;
      label = found;
      own = other;
      state.labels.data()[i] = label;
      ++block.moved;
    }
  }
  if (!state.remember) return;
  state.upper.data()[i] = at_most<Metric>(state, i, own);
  float* const bounds = state.by_group.data() + i * state.groups;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t g = 0; g < state.groups; ++g) {
    const double drift = state.drifts.data()[g];
    double bound = static_cast<double>(bounds[g]) - drift;
    if (block.doubts[b] >> g & 1u) {
      bound = at_least<Metric>(state, i, static_cast<double>(block.scores[b][g]));
    }
    if (label != before && g == state.group_of.data()[label]) {
      bound = 0.0;  // of the others in its group nothing is known until the next call
    } else if (left >= 0.0 && g == state.group_of.data()[before]) {
      const double distance = Metric::kSquared ? std::sqrt(left) : left;
      bound = std::min(bound, distance * (1.0 - 1e-6));  // safeguard: more than its rounding
    }
    if (bound < 0.0) bound = 0.0;
    bounds[g] = static_cast<float>(bound + drift) * kDown;
    least = std::min(least, bound);
  }
  state.lower.data()[i] = static_cast<float>(least) * kDown;
}

template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE void resolve(const SearchState<Matrix>& state, DoubtfulRows<Scalar>& block) {
  for (std::size_t b = 0; b < block.count; ++b) {
    block.best[b] = kWorst<Scalar>;
    block.nearest[b] = -1;
  }
  for (std::size_t g = 0; g < state.groups; ++g) {
    score_group<Metric, false>(state, block, g);
    if (!state.first) score_group<Metric, true>(state, block, g);
  }
  for (std::size_t b = 0; b < block.count; ++b) settle<Metric>(state, block, b);
  block.count = 0;
}

/// The nearest centres of some rows.
template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE void search(const SearchState<Matrix>& state, Range range,
                            DoubtfulRows<Scalar>& block) {
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (state.first) {
      block.own[block.count] = 0.0;
      block.doubts[block.count] = (1u << state.groups) - 1u;
    } else if (!is_doubtful<Metric>(state, i, block)) {
      continue;
    }
    block.rows[block.count++] = static_cast<std::uint32_t>(i);
    if (block.count == kDoubtful) resolve<Metric>(state, block);
  }
  if (block.count > 0) resolve<Metric>(state, block);
}

}  // namespace minimand
