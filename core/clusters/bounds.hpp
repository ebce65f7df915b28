#pragma once

#include <cmath>
#include <type_traits>
#include <utility>
#include <vector>

#include "clusters/panels.hpp"

// What a search knows. Every row has an upper bound of the distance from its own centre, a lower
// bound of those from all others, and one for every group of centres (Hamerly 2010; Ding and others
// 2015). A row is looked at only if its bounds cross.
namespace minimand {

inline constexpr std::size_t kMostGroups = 16;  // safeguard: a cache line of bounds for every row
using GroupBounds =
    Values<float>;  // bounds of some groups of a row; those of no group are infinite
inline constexpr std::size_t kChunk = 1024;      // rows sifted together; safeguard: fits a cache
inline constexpr std::size_t kDoubtful = 256;    // rows scored together; safeguard: fits a cache
inline constexpr std::size_t kPacked = 1 << 15;  // numbers of rows scored together; safeguard: same
inline constexpr float kUp = 1.0f + 4e-7f;       // factor, 3 ulp: rounding of a sum; safeguard
inline constexpr float kDown = 1.0f - 4e-7f;     // the same; safeguard

/// What is known of all rows, and of the centres. Scores are computed in `Tile`: in single
/// precision for rows in double precision, too, where that tells most centres apart.
template <class Matrix, class Tile = ScalarOf<Matrix>>
struct SearchState {
  static constexpr bool kNarrow = !std::is_same_v<Tile, ScalarOf<Matrix>>;

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
  const Panels<Tile>& panels;
  std::size_t groups, width, panels_of_group;  // width: groups in whole vectors
  std::span<const std::uint8_t> group_of;
  std::span<const float> shifts;     // how far every centre went, at least
  std::span<const float> half_gaps;  // half the distance to the nearest other centre, at most
  float fall;                        // the largest shift
  std::span<const float> drifts;     // the sum of the largest shifts of every group so far

  // Rounding: see `error_of`
  double unit, direct_unit, largest_center, largest_offset, least_error;
  bool first, remember;

  std::span<const double> middle;  // narrow scores are those of x - middle

  MINIMAND_INLINE double factor(std::size_t row) const {
    return factors.empty() ? 1.0 : factors.data()[row];
  }
  MINIMAND_INLINE const double* center(std::int32_t c) const {
    return centers.data() + static_cast<std::size_t>(c) * length;
  }
};

/// Rows in doubt, and what is found out about them.
template <class Tile>
struct DoubtfulRows {
  static constexpr std::size_t kRoom = kDoubtful + 8;  // filled up to whole tiles; derived
  std::uint8_t crossed[kChunk];
  std::uint32_t left[kChunk];  // rows that are not yet seen to be safe
  std::size_t count = 0;
  std::uint32_t rows[kDoubtful];
  double own[kDoubtful];            // direct distance from the own centre
  std::uint32_t doubts[kDoubtful];  // a bit for every group
  Tile best[kDoubtful];
  Leader<Tile> winners[kDoubtful];           // among which the best is
  Tile scores[kDoubtful][kMostGroups] = {};  // the best of every group
  // The rows in doubt about one group
  std::uint32_t listed[kRoom];  // their places above
  std::uint32_t tiled[kRoom];   // their rows in the matrix that is scored
  std::int32_t owners[kRoom];   // their own centres
  Leader<Tile> leaders[kRoom];
  std::vector<Tile> packed;  // the rows themselves, if scores are narrow
  std::size_t moved = 0, compared = 0, settled = 0, close = 0;
};

/// An upper bound of the rounding error of a score. A sum of d products with unit rounding u has an
/// error of at most (d + 1) u |x| |c|; centres and offsets are rounded, and narrow rows, too.
template <class Matrix, class Tile>
MINIMAND_INLINE double error_of(const SearchState<Matrix, Tile>& state, std::size_t row) {
  return state.unit * (static_cast<double>(state.sizes.data()[row]) * state.largest_center +
                       state.largest_offset) +
         state.least_error;
}

/// The distance that a direct distance proves at most.
template <class Metric, class Matrix, class Tile>
MINIMAND_INLINE float at_most(const SearchState<Matrix, Tile>& state, std::size_t row,
                              double direct) {
  double far = direct * (1.0 + state.direct_unit);
  if (!state.factors.empty() || RowOf<Matrix>::kSparse) {
    const double size = state.factors.empty() ? static_cast<double>(state.sizes.data()[row]) : 1.0;
    const double whole = size + state.largest_center;
    far += state.direct_unit * (Metric::kSquared ? whole * whole : whole);
  }
  return static_cast<float>(Metric::kSquared ? std::sqrt(far) : far) * kUp;
}

/// The distance that a score proves at least.
template <class Metric, class Matrix, class Tile>
MINIMAND_INLINE double at_least(const SearchState<Matrix, Tile>& state, std::size_t row,
                                double score) {
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

/// The bounds of some groups, from one on.
template <class Matrix, class Tile>
MINIMAND_INLINE GroupBounds bounds_from(const SearchState<Matrix, Tile>& state, std::size_t i,
                                        std::size_t g) {
  return (load_wide(state.by_group.data() + i * state.width + g) -
          load_wide(state.drifts.data() + g)) *
         kDown;
}

/// The least bound of all groups.
template <class Matrix, class Tile>
MINIMAND_INLINE float least_bound(const SearchState<Matrix, Tile>& state, std::size_t i) {
  GroupBounds least = std::numeric_limits<float>::infinity() - GroupBounds{};
  for (std::size_t g = 0; g < state.width; g += kWide<float>) {
    const GroupBounds bounds = bounds_from(state, i, g);
    least = bounds < least ? bounds : least;
  }
  return -greatest<float>(-least);
}

/// The groups about which a row is in doubt, a bit for each.
template <class Matrix, class Tile>
MINIMAND_INLINE std::uint32_t doubts_of(const SearchState<Matrix, Tile>& state, std::size_t i,
                                        float upper) {
  Numbers<float> bits;
  for (std::size_t lane = 0; lane < kWide<float>; ++lane) bits[lane] = 1 << lane;
  std::uint32_t doubts = 0;
  for (std::size_t g = 0; g < state.width; g += kWide<float>) {
    const Numbers<float> crossed = bounds_from(state, i, g) < upper + GroupBounds{};
    doubts |= static_cast<std::uint32_t>(all_bits(crossed & bits)) << g;
  }
  return doubts;
}

}  // namespace minimand
