#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace minimand {

/// Copies the upper triangle of a square matrix onto its lower one, in tiles that fit the cache.
inline void mirror_upper(std::span<double> square, std::size_t side) {
  constexpr std::size_t kTile = 32;  // side of a tile, 8 kB; safeguard: it fits the first cache
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

/// The upper triangle of diag(factors) M diag(factors) for some rows and columns of a symmetric M,
/// with ones on the diagonal.
inline void scaled_block(std::span<const double> square, std::size_t side,
                         std::span<const std::int64_t> places, std::span<const double> factors,
                         std::span<double> block) {
  const std::size_t count = places.size();
  for (std::size_t a = 0; a < count; ++a) {
    const double* const from = square.data() + static_cast<std::size_t>(places[a]) * side;
    double* const to = block.data() + a * count;
    to[a] = 1.0;
    for (std::size_t b = a + 1; b < count; ++b) {
      to[b] = factors[a] * factors[b] * from[static_cast<std::size_t>(places[b])];
    }
  }
}

/// result = M v for some rows and columns of a symmetric M.
inline void block_product(std::span<const double> square, std::size_t side,
                          std::span<const std::int64_t> rows, std::span<const std::int64_t> columns,
                          std::span<const double> v, std::span<double> result) {
  const std::size_t count = columns.size();
  for (std::size_t a = 0; a < rows.size(); ++a) {
    const double* const from = square.data() + static_cast<std::size_t>(rows[a]) * side;
    double sums[4] = {};  // independent sums hide the latency of additions
    for (std::size_t b = 0; b < count; ++b) {
      sums[b % 4] += v[b] * from[static_cast<std::size_t>(columns[b])];
    }
    result[a] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  }
}

}  // namespace minimand
