#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace minimand {

/// Copies the upper triangle of a square matrix onto some rows of its lower one, in tiles that fit
/// the cache.
template <class Scalar>
void mirror_rows(std::span<Scalar> square, std::size_t side, std::size_t begin, std::size_t end) {
  constexpr std::size_t kTile = 32;  // side of a tile, 8 kB; safeguard: it fits the first cache
  for (std::size_t row = begin; row < end; row += kTile) {
    for (std::size_t column = 0; column <= row; column += kTile) {
      for (std::size_t i = row; i < std::min(row + kTile, end); ++i) {
        for (std::size_t j = column; j < std::min(column + kTile, i); ++j) {
          square[i * side + j] = square[j * side + i];
        }
      }
    }
  }
}

/// The same of all rows.
template <class Scalar>
void mirror_upper(std::span<Scalar> square, std::size_t side) {
  mirror_rows(square, side, 0, side);
}

}  // namespace minimand
