#pragma once

#include <cmath>
#include <tuple>
#include <utility>

#include "clusters/panels.hpp"

// The inner loop of a search. Every row has an upper bound of the distance from its own centre, a
// lower bound of those from all others, and one for every group of centres (Hamerly 2010; Ding and
// others 2015). A row is looked at only if its bounds cross. Rows in doubt are collected first, so
// that the scores of each group are computed for many rows at once.
namespace minimand {

inline constexpr std::size_t kMostGroups = 16;  // safeguard: a cache line of bounds for every row
using GroupBounds =
    Values<float>;  // bounds of some groups of a row; those of no group are infinite
inline constexpr std::size_t kDoubtful = 96;  // rows scored together; safeguard: fits a cache
inline constexpr float kUp = 1.0f + 4e-7f;    // factor that covers the rounding of a float sum
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
  std::size_t groups, width, panels_of_group;  // width: groups in whole vectors
  std::span<const std::uint8_t> group_of;
  std::span<const float> shifts;     // how far every centre went, at least
  std::span<const float> half_gaps;  // half the distance to the nearest other centre, at most
  float fall;                        // the largest shift
  std::span<const float> drifts;     // the sum of the largest shifts of every group so far

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
  float clear[kDoubtful];           // the least bound of the other groups
  Scalar best[kDoubtful];
  Leader<Scalar> winners[kDoubtful];  // among which the best is
  Scalar scores[kDoubtful][kMostGroups];
  // The rows in doubt about a group: without their own centre in it, and with it
  std::size_t listed[2 * kMostGroups] = {};
  std::uint8_t lists[2 * kMostGroups][kDoubtful];
  std::uint32_t tiled[kRoom];
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
    const double least =
        square * (1.0 - state.direct_unit) - 2.0 * state.factor(row) * (score + error);
    return least > 0.0 ? std::sqrt(least) * (1.0 - 1e-15) : 0.0;
  } else {
    const double least = -score * (1.0 - state.unit) - error;
    return least > 0.0 ? least : 0.0;
  }
}

/// The bits of all lanes together.
template <class Wide>
MINIMAND_INLINE std::int32_t all_bits(Wide v) {
  if constexpr (sizeof(Wide) == 8 * sizeof(std::int32_t)) {
    v |= __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
    v |= __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5);
    v |= __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6);
  } else {
    v |= __builtin_shufflevector(v, v, 2, 3, 0, 1);
    v |= __builtin_shufflevector(v, v, 1, 0, 3, 2);
  }
  return v[0];
}

/// The groups about which a row is in doubt, a bit for each, and the least bound of the others.
template <class Matrix>
MINIMAND_INLINE std::pair<std::uint32_t, float> doubts_of(const SearchState<Matrix>& state,
                                                          std::size_t i, float upper) {
  constexpr std::size_t kHere = kWide<float>;
  std::uint32_t doubts = 0;
  GroupBounds least = std::numeric_limits<float>::infinity() - GroupBounds{};
  const GroupBounds none = least;
  for (std::size_t g = 0; g < state.width; g += kHere) {
    const GroupBounds bounds = (load_wide(state.by_group.data() + i * state.width + g) -
                                load_wide(state.drifts.data() + g)) *
                               kDown;
    const Numbers<float> crossed = bounds < upper + GroupBounds{};
    const GroupBounds clear = crossed ? none : bounds;
    least = clear < least ? clear : least;
    Numbers<float> bits;
    for (std::size_t lane = 0; lane < kHere; ++lane) bits[lane] = 1 << lane;
    doubts |= static_cast<std::uint32_t>(all_bits(crossed & bits)) << g;
  }
  return {doubts, -greatest<float>(-least)};
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
  if (*upper < enough) return false;
  // By group first: for that the row itself need not be read.
  auto [doubts, clear] = doubts_of(state, i, *upper);
  double own = 0.0;
  if (doubts != 0) {
    own = direct<Metric>(row_of(state.matrix, i), state.factor(i),
                         state.center(state.labels.data()[i]), state.wholes.data()[label]);
    *upper = at_most<Metric>(state, i, own);
    if (*upper < enough) return false;
    std::tie(doubts, clear) = doubts_of(state, i, *upper);
  }
  if (doubts == 0) {
    *lower = clear;
    return false;
  }
  block.own[block.count] = own;
  block.doubts[block.count] = doubts;
  block.clear[block.count] = clear;
  return true;
}

/// Enters a row into the lists of the groups that it is in doubt about.
template <class Matrix, class Scalar>
MINIMAND_INLINE void enlist(const SearchState<Matrix>& state, DoubtfulRows<Scalar>& block,
                            std::size_t i) {
  const std::size_t b = block.count++;
  block.rows[b] = static_cast<std::uint32_t>(i);
  block.best[b] = kWorst<Scalar>;
  const std::size_t own = state.first ? kMostGroups : state.group_of.data()[state.labels.data()[i]];
  for (std::uint32_t left = block.doubts[b]; left != 0; left &= left - 1) {
    const auto g = static_cast<std::size_t>(__builtin_ctz(left));
    const std::size_t list = 2 * g + (g == own);
    block.lists[list][block.listed[list]++] = static_cast<std::uint8_t>(b);
  }
}

/// Scores one group for the rows in doubt about it. Of those whose own centre it holds (`kOwn`)
/// that centre is left out.
template <class Metric, bool kOwn, class Matrix, class Scalar>
MINIMAND_INLINE void score_group(const SearchState<Matrix>& state, DoubtfulRows<Scalar>& block,
                                 std::size_t group) {
  constexpr std::size_t kRows = TypesOf<Matrix>::kRows;
  const std::size_t count = block.listed[2 * group + kOwn];
  const std::uint8_t* const list = block.lists[2 * group + kOwn];
  if (count == 0) return;
  block.listed[2 * group + kOwn] = 0;
  block.compared += count;
  const Values<Scalar> worst = kWorst<Scalar> - Values<Scalar>{};
  const std::size_t whole = (count + kRows - 1) / kRows * kRows;
  for (std::size_t c = 0; c < whole; ++c) {
    block.tiled[c] = block.rows[list[c < count ? c : count - 1]];
    block.leaders[c] = {worst, worst, Numbers<Scalar>{}};
  }
  const std::size_t begin = group * state.panels_of_group;
  const std::size_t end = std::min(begin + state.panels_of_group, state.panels.count());
  for (std::size_t p = begin; p < end; ++p) {
    const Numbers<Scalar> low = numbers_from<Scalar>(p * kPanel<Scalar>);
    const Numbers<Scalar> high = numbers_from<Scalar>(p * kPanel<Scalar> + kWide<Scalar>);
    for (std::size_t c = 0; c < count; c += kRows) {
      ScoreTile<Scalar, kRows> tile;
      score<Metric>(state.matrix, block.tiled + c, state.panels.entries(p), state.panels.offsets(p),
                    tile);
#pragma GCC unroll 6
      for (std::size_t r = 0; r < kRows; ++r) {
        if constexpr (kOwn) {
          const std::int32_t own = state.labels.data()[block.tiled[c + r]];
          const Numbers<Scalar> without = own + Numbers<Scalar>{};
          tile.low[r] = low == without ? worst : tile.low[r];
          tile.high[r] = high == without ? worst : tile.high[r];
        }
        block.leaders[c + r].meet(tile.low[r], low);
        block.leaders[c + r].meet(tile.high[r], high);
      }
    }
  }
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t b = list[c];
    const Scalar best = greatest<Scalar>(block.leaders[c].best);
    block.scores[b][group] = best;
    if (best > block.best[b]) {
      block.best[b] = best;
      block.winners[b] = block.leaders[c];
    }
  }
}

template <class Metric, class Matrix>
MINIMAND_INLINE double direct_from(const SearchState<Matrix>& state, std::size_t i,
                                   std::int32_t center) {
  return direct<Metric>(row_of(state.matrix, i), state.factor(i), state.center(center),
                        state.wholes.data()[center]);
}

/// What is found out about one row: the best centre, and the best score of its group without it.
/// Scores closer to each other than their rounding decide nothing: direct distances do, so that the
/// label depends on row and centres alone, and rounding cannot move a row to and fro for ever.
struct Decision {
  std::int32_t label;
  double own;        // direct distance from the label's centre
  double runner_up;  // score; infinite if it is not known
};
template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE Decision decide(const SearchState<Matrix>& state, const DoubtfulRows<Scalar>& block,
                                std::size_t b, std::int32_t before) {
  const std::size_t i = block.rows[b];
  Lead<Scalar> lead = lead_of(block.winners[b], block.best[b]);
  // Where all scores have overflowed none is the best, and there is no winner to be read.
  if (!(lead.number >= 0 && lead.number < static_cast<std::int32_t>(state.wholes.size()))) {
    lead.number = 0;
  }
  Scalar rival = lead.runner_up;
  for (std::uint32_t doubts = block.doubts[b]; doubts != 0; doubts &= doubts - 1) {
    const auto g = static_cast<std::size_t>(__builtin_ctz(doubts));
    if (g == state.group_of.data()[lead.number]) continue;
    rival = block.scores[b][g] > rival ? block.scores[b][g] : rival;
  }
  const double error =
      2.0 * error_of(state, i) +
      (Metric::kSquared ? 0.0 : 2.0 * state.unit * std::abs(static_cast<double>(block.best[b])));
  const bool close = static_cast<double>(rival) + error >= static_cast<double>(block.best[b]);
  if (!close) {
    if (state.first && !state.remember) return {lead.number, 0.0, 0.0};
    const double other = direct_from<Metric>(state, i, lead.number);
    const double own = block.own[b];
    if (before >= 0 && !(other < own || (other == own && lead.number < before))) {
      return {before, own, 0.0};
    }
    return {lead.number, other, static_cast<double>(lead.runner_up)};
  }
  Decision best{0, direct_from<Metric>(state, i, 0), std::numeric_limits<double>::infinity()};
  const auto k = static_cast<std::int32_t>(state.wholes.size());
  for (std::int32_t c = 1; c < k; ++c) {
    const double other = direct_from<Metric>(state, i, c);
    if (other < best.own) {
      best.label = c;
      best.own = other;
    }
  }
  return best;
}

/// Gives a row its nearest centre, and sets its bounds.
template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE void settle(const SearchState<Matrix>& state, DoubtfulRows<Scalar>& block,
                            std::size_t b) {
  const std::size_t i = block.rows[b];
  const std::int32_t before = state.first ? -1 : state.labels.data()[i];
  Decision now{before, block.own[b], 0.0};
  if (state.first || at_least<Metric>(state, i, static_cast<double>(block.best[b])) <=
                         static_cast<double>(state.upper.data()[i])) {
    now = decide<Metric>(state, block, b, before);
  }
  if (now.label != before) {
    ++block.moved;
    state.labels.data()[i] = now.label;
  }
  if (!state.remember) return;
  state.upper.data()[i] = at_most<Metric>(state, i, now.own);
  float* const bounds = state.by_group.data() + i * state.width;
  float least = block.clear[b];
  for (std::uint32_t doubts = block.doubts[b]; doubts != 0; doubts &= doubts - 1) {
    const auto g = static_cast<std::size_t>(__builtin_ctz(doubts));
    const auto score = static_cast<double>(block.scores[b][g]);
    const bool moved_there = now.label != before && g == state.group_of.data()[now.label];
    const double others = moved_there ? now.runner_up : score;
    const auto bound = static_cast<float>(at_least<Metric>(state, i, others)) * kDown;
    bounds[g] = (bound + state.drifts.data()[g]) * kDown;
    least = bound < least ? bound : least;
  }
  if (now.label != before && before >= 0) {
    // The group of the old centre may have had no doubt, but now holds the old one, too.
    const std::size_t g = state.group_of.data()[before];
    const double square = block.own[b];
    // 1e-6: safeguard, more than the rounding of a direct distance
    const auto far =
        static_cast<float>((Metric::kSquared ? std::sqrt(square) : square) * (1.0 - 1e-6));
    bounds[g] = std::min(bounds[g], (far + state.drifts.data()[g]) * kDown);
    least = far < least ? far : least;
    const bool known = block.doubts[b] >> state.group_of.data()[now.label] & 1u;
    if (!known) {
      bounds[state.group_of.data()[now.label]] = 0.0f;
      least = 0.0f;
    }
  }
  state.lower.data()[i] = least;
}

template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE void resolve(const SearchState<Matrix>& state, DoubtfulRows<Scalar>& block) {
  for (std::size_t g = 0; g < state.groups; ++g) {
    score_group<Metric, false>(state, block, g);
    score_group<Metric, true>(state, block, g);
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
      block.clear[block.count] = std::numeric_limits<float>::infinity();
    } else if (!is_doubtful<Metric>(state, i, block)) {
      continue;
    }
    enlist(state, block, i);
    if (block.count == kDoubtful) resolve<Metric>(state, block);
  }
  if (block.count > 0) resolve<Metric>(state, block);
}

}  // namespace minimand
