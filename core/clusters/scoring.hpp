#pragma once

#include <algorithm>

#include "clusters/sift.hpp"

// The rows in doubt: their scores with the groups of centres that they are in doubt about, for many
// rows at once, and what follows for their labels and bounds.
namespace minimand {

inline constexpr std::size_t kAhead = 6;  // rows that are fetched before they are read; safeguard

/// The rows of a block as they are scored: those of the matrix itself, or narrow copies.
template <class Matrix, class Tile>
MINIMAND_INLINE auto scored_matrix(const SearchState<Matrix, Tile>& state,
                                   DoubtfulRows<Tile>& block) {
  if constexpr (SearchState<Matrix, Tile>::kNarrow) {
    const std::size_t d = state.length;
    if (block.packed.size() < block.count * d) block.packed.resize(kDoubtful * d);
    const double* const __restrict middle = state.middle.data();
    for (std::size_t b = 0; b < block.count; ++b) {
      const double* const __restrict from = row_of(state.matrix, block.rows[b]).values.data();
      Tile* const __restrict to = block.packed.data() + b * d;
      for (std::size_t j = 0; j < d; ++j) to[j] = static_cast<Tile>(from[j] - middle[j]);
    }
    return DenseMatrix<Tile>{block.packed, block.count, d, d, true};
  } else {
    return state.matrix;
  }
}

/// Lists the rows in doubt about a group, filled up to whole tiles; how many there are.
template <std::size_t kRows, class Matrix, class Tile>
MINIMAND_INLINE std::size_t list_rows(const SearchState<Matrix, Tile>& state,
                                      DoubtfulRows<Tile>& block, std::size_t group) {
  std::size_t count = 0;
  for (std::size_t b = 0; b < block.count; ++b) {
    block.listed[count] = static_cast<std::uint32_t>(b);
    count += block.doubts[b] >> group & 1u;
  }
  if (count == 0) return 0;
  for (std::size_t c = count; c % kRows != 0; ++c) block.listed[c] = block.listed[count - 1];
  for (std::size_t c = 0; c < (count + kRows - 1) / kRows * kRows; ++c) {
    const std::uint32_t b = block.listed[c];
    block.tiled[c] = SearchState<Matrix, Tile>::kNarrow ? b : block.rows[b];
    block.owners[c] = state.first ? -1 : state.labels.data()[block.rows[b]];
  }
  return count;
}

/// Scores one group for the rows in doubt about it, without their own centres.
template <class Metric, class Scored, class Matrix, class Scalar>
MINIMAND_INLINE void score_group(const SearchState<Matrix, Scalar>& state, const Scored& matrix,
                                 DoubtfulRows<Scalar>& block, std::size_t group) {
  constexpr std::size_t kRows = TypesOf<Scored>::kRows;
  const std::size_t count = list_rows<kRows>(state, block, group);
  block.compared += count;
  const Values<Scalar> worst = kWorst<Scalar> - Values<Scalar>{};
  const std::size_t begin = group * state.panels_of_group;
  const std::size_t end = std::min(begin + state.panels_of_group, state.panels.count());
  for (std::size_t p = begin; p < end; ++p) {
    const Numbers<Scalar> low = numbers_from<Scalar>(p * kPanel<Scalar>);
    const Numbers<Scalar> high = numbers_from<Scalar>(p * kPanel<Scalar> + kWide<Scalar>);
    for (std::size_t c = 0; c < count; c += kRows) {
      ScoreTile<Scalar, kRows> tile;
      score<Metric>(matrix, block.tiled + c, state.panels.entries(p), state.panels.offsets(p),
                    tile);
#pragma GCC unroll 6
      for (std::size_t r = 0; r < kRows; ++r) {
        const Numbers<Scalar> own = block.owners[c + r] + Numbers<Scalar>{};
        const Values<Scalar> one = low == own ? worst : tile.low[r];
        const Values<Scalar> other = high == own ? worst : tile.high[r];
        if (p == begin) {
          block.leaders[c + r].begin(one, low, other, high);
        } else {
          block.leaders[c + r].meet(one, low);
          block.leaders[c + r].meet(other, high);
        }
      }
    }
  }
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t b = block.listed[c];
    const Scalar best = greatest<Scalar>(block.leaders[c].best);
    block.scores[b][group] = best;
    if (best > block.best[b]) {
      block.best[b] = best;
      block.winners[b] = block.leaders[c];
    }
  }
}

template <class Metric, class Matrix, class Tile>
MINIMAND_INLINE double direct_from(const SearchState<Matrix, Tile>& state, std::size_t i,
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
MINIMAND_INLINE Decision decide(const SearchState<Matrix, Scalar>& state,
                                DoubtfulRows<Scalar>& block, std::size_t b, std::int32_t before) {
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
  const double best_score = static_cast<double>(block.best[b]);
  const double error =
      2.0 * error_of(state, i) + (Metric::kSquared ? 0.0 : 2.0 * state.unit * std::abs(best_score));
  // Scores that have overflowed are no numbers: then nothing is told apart, either.
  const bool close = !(static_cast<double>(rival) + error < best_score);
  if (!close) {
    if (state.first && !state.remember) return {lead.number, 0.0, 0.0};
    const double other = direct_from<Metric>(state, i, lead.number);
    const double own = block.own[b];
    if (before >= 0 && !(other < own || (other == own && lead.number < before))) {
      return {before, own, 0.0};
    }
    return {lead.number, other, static_cast<double>(lead.runner_up)};
  }
  ++block.close;
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

/// Sets the bounds by group of a row after its groups in doubt were scored; the least of all.
template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE float set_bounds(const SearchState<Matrix, Scalar>& state,
                                 const DoubtfulRows<Scalar>& block, std::size_t b) {
  const std::size_t i = block.rows[b];
  const double error = error_of(state, i), factor = 2.0 * state.factor(i);
  const double square = Metric::kSquared ? state.squares.data()[i] * (1.0 - state.direct_unit) : 0;
  constexpr std::size_t kHere = kWide<float>;
  Numbers<float> bits;
  for (std::size_t lane = 0; lane < kHere; ++lane) bits[lane] = 1 << lane;
  GroupBounds least = std::numeric_limits<float>::infinity() - GroupBounds{};
  for (std::size_t g = 0; g < state.width; g += kHere) {
    float found[kHere];
    for (std::size_t lane = 0; lane < kHere; ++lane) {
      const auto score = static_cast<double>(block.scores[b][g + lane]);
      const double proved = Metric::kSquared ? square - factor * (score + error)
                                             : -score * (1.0 - state.unit) - error;
      const double far = proved > 0.0 ? proved : 0.0;
      found[lane] = static_cast<float>(Metric::kSquared ? std::sqrt(far) : far);
    }
    const GroupBounds proved = load_wide(found) * kDown;
    const GroupBounds known = bounds_from(state, i, g);
    const auto there = static_cast<std::int32_t>(block.doubts[b] >> g);
    const Numbers<float> scored = ((there + Numbers<float>{}) & bits) != Numbers<float>{};
    const GroupBounds bounds = scored ? proved : known;
    least = bounds < least ? bounds : least;
    float* const at = state.by_group.data() + i * state.width + g;
    const GroupBounds kept = (proved + load_wide(state.drifts.data() + g)) * kDown;
    const GroupBounds stored = scored ? kept : load_wide(static_cast<const float*>(at));
    __builtin_memcpy(at, &stored, sizeof stored);
  }
  return -greatest<float>(-least);
}

/// Gives a row its nearest centre, and sets its bounds.
template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE void settle(const SearchState<Matrix, Scalar>& state, DoubtfulRows<Scalar>& block,
                            std::size_t b) {
  const std::size_t i = block.rows[b];
  const std::int32_t before = state.first ? -1 : state.labels.data()[i];
  Decision now{before, block.own[b], 0.0};
  if (state.first || !(at_least<Metric>(state, i, static_cast<double>(block.best[b])) >
                       static_cast<double>(state.upper.data()[i]))) {
    now = decide<Metric>(state, block, b, before);
  }
  const bool moved = now.label != before;
  if (moved) {
    ++block.moved;
    state.labels.data()[i] = now.label;
  }
  if (!state.remember) return;
  const std::size_t group = state.group_of.data()[now.label];
  if (moved) block.scores[b][group] = static_cast<Scalar>(now.runner_up);
  float least = set_bounds<Metric>(state, block, b);
  if (moved) state.upper.data()[i] = at_most<Metric>(state, i, now.own);
  if (moved && before >= 0) {
    // The group of the old centre may have had no doubt, but now holds the old one, too.
    float* const bounds = state.by_group.data() + i * state.width;
    const std::size_t g = state.group_of.data()[before];
    const double square = block.own[b];
    // 1e-6: safeguard, more than the rounding of a direct distance
    const auto far =
        static_cast<float>((Metric::kSquared ? std::sqrt(square) : square) * (1.0 - 1e-6));
    bounds[g] = std::min(bounds[g], (far + state.drifts.data()[g]) * kDown);
    least = far < least ? far : least;
    const bool known = block.doubts[b] >> group & 1u;
    if (!known) {
      bounds[group] = 0.0f;
      least = 0.0f;
    }
  }
  state.lower.data()[i] = least;
}

template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE void resolve(const SearchState<Matrix, Scalar>& state,
                             DoubtfulRows<Scalar>& block) {
  for (std::size_t b = 0; b < block.count; ++b) block.best[b] = kWorst<Scalar>;
  const auto matrix = scored_matrix(state, block);
  for (std::size_t g = 0; g < state.groups; ++g) score_group<Metric>(state, matrix, block, g);
  for (std::size_t b = 0; b < block.count; ++b) settle<Metric>(state, block, b);
  block.settled += block.count;
  block.count = 0;
}

/// The nearest centres of some rows, at most kChunk. `resolve` is inlined wherever it is called, so
/// there is one call for all cases: three calls made this the slowest file to compile.
template <class Metric, class Matrix, class Scalar>
MINIMAND_INLINE void search(const SearchState<Matrix, Scalar>& state, Range range,
                            DoubtfulRows<Scalar>& block) {
  const std::size_t room =
      std::clamp<std::size_t>(kPacked / std::max<std::size_t>(state.length, 1), 24, kDoubtful);
  const std::size_t left =
      state.first ? range.size() : sift_by_group(state, follow_centers(state, range, block), block);
  for (std::size_t c = 0; c < left;) {
    if (state.first) {
      for (; c < left && block.count < room; ++c) {
        block.rows[block.count] = static_cast<std::uint32_t>(range.begin + c);
        block.own[block.count] = 0.0;
        block.doubts[block.count++] = (1u << state.groups) - 1u;
      }
    } else {
      for (; c < left && block.count < room; ++c) {
        if (c + kAhead < left) row_of(state.matrix, block.left[c + kAhead]).fetch();
        measure_own<Metric>(state, block.left[c], block);
      }
    }
    if (block.count > 0) resolve<Metric>(state, block);
  }
}

}  // namespace minimand
