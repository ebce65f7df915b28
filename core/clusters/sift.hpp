#pragma once

#include "clusters/bounds.hpp"

// Which rows are in doubt. Every stage looks at what the one before could not settle, and reads
// more than that: two bounds of a row, its bounds by group, the row itself. Stages write lists and
// do not branch by row, since nothing predicts which rows are in doubt.
namespace minimand {

/// Lets the bounds of rows follow the centres, and lists the rows whose bounds cross.
template <class Matrix, class Tile>
MINIMAND_INLINE std::size_t follow_centers(const SearchState<Matrix, Tile>& state, Range range,
                                           DoubtfulRows<Tile>& block) {
  const std::int32_t* const __restrict labels = state.labels.data() + range.begin;
  float* const __restrict upper = state.upper.data() + range.begin;
  float* const __restrict lower = state.lower.data() + range.begin;
  const float* const __restrict shifts = state.shifts.data();
  const float* const __restrict gaps = state.half_gaps.data();
  std::uint8_t* const __restrict crossed = block.crossed;
  const std::size_t size = range.size();
  const float fall = state.fall;
  for (std::size_t i = 0; i < size; ++i) {
    const float up = (upper[i] + shifts[labels[i]]) * kUp;
    const float low = (lower[i] - fall) * kDown;
    const float least = low > 0.0f ? low : 0.0f;
    const float gap = gaps[labels[i]];
    upper[i] = up;
    lower[i] = least;
    crossed[i] = !(up < (least > gap ? least : gap));
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    block.left[count] = static_cast<std::uint32_t>(range.begin + i);
    count += crossed[i];
  }
  return count;
}

/// Leaves out the rows whose bounds by group do not cross.
template <class Matrix, class Tile>
MINIMAND_INLINE std::size_t sift_by_group(const SearchState<Matrix, Tile>& state, std::size_t rows,
                                          DoubtfulRows<Tile>& block) {
  std::size_t count = 0;
  for (std::size_t c = 0; c < rows; ++c) {
    const std::size_t i = block.left[c];
    const float least = least_bound(state, i);
    const bool crossed = least < state.upper.data()[i];
    float& lower = state.lower.data()[i];
    lower = crossed ? lower : least;
    block.left[count] = static_cast<std::uint32_t>(i);
    count += crossed;
  }
  return count;
}

/// Measures a row from its own centre, and enters it into the block if it is still in doubt.
template <class Metric, class Matrix, class Tile>
MINIMAND_INLINE void measure_own(const SearchState<Matrix, Tile>& state, std::size_t i,
                                 DoubtfulRows<Tile>& block) {
  const auto label = static_cast<std::size_t>(state.labels.data()[i]);
  const double own =
      direct<Metric>(row_of(state.matrix, i), state.factor(i), state.center(state.labels.data()[i]),
                     state.wholes.data()[label]);
  const float upper = at_most<Metric>(state, i, own);
  const std::uint32_t doubts = doubts_of(state, i, upper);
  const float lower = state.lower.data()[i], gap = state.half_gaps.data()[label];
  const float enough = lower > gap ? lower : gap;
  state.upper.data()[i] = upper;
  block.rows[block.count] = static_cast<std::uint32_t>(i);
  block.own[block.count] = own;
  block.doubts[block.count] = doubts;
  block.count += doubts != 0 && !(upper < enough);
}

}  // namespace minimand
