#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace minimand {

/// Copies the upper triangle of a square matrix onto its lower one, in tiles that fit the cache.
inline void mirror_upper(std::span<double> square, std::size_t side) {
  constexpr std::size_t kTile = 32;
  for (std::size_t row = 0; row < side; row += kTile) {
    for (std::size_t column = 0; column <= row; column += kTile) {
      for (std::size_t i = row; i < std::min(row + kTile, side); ++i) {
        for (std::size_t j = column; j < std::min(column + kTile, i); ++j) {
          square[i * side + j] = square[j * side + i];
        }
      }
    }
  }
}

}  // namespace minimand
