#pragma once

#include <cstddef>
#include <span>

#include "common/parallel.hpp"

namespace minimand {

/// A dense matrix as a stack of contiguous lines: its rows in C order, its columns in F order.
///
/// In either order, a product is then either dot products with the lines or a weighted sum of the
/// lines.
template <class Scalar>
struct DenseMatrix {
  std::span<const Scalar> values;
  std::size_t lines;
  std::size_t length;
  std::size_t stride;  // elements from one line to the next
  bool by_rows;

  std::size_t rows() const { return by_rows ? lines : length; }
  std::size_t columns() const { return by_rows ? length : lines; }
  std::size_t size() const { return lines * length; }
  std::span<const Scalar> line(std::size_t index) const {
    return values.subspan(index * stride, length);
  }
};

/// A rectangle of a matrix.
struct Tile {
  Range lines;
  Range positions;
};

/// Calls f(tile) over `whole`, in tiles that stay in the second-level cache while several vectors
/// pass over them. Long lines are cut so that the dense operand stays in the first level.
template <class Function>
void for_each_tile(Tile whole, const Function& f) {
  constexpr std::size_t kLongestCut = 2048;     // elements, 16 kB; safeguard: half of a first cache
  constexpr std::size_t kTileElements = 16384;  // elements, 128 kB; safeguard: fits a second cache
  for (std::size_t p = whole.positions.begin; p < whole.positions.end; p += kLongestCut) {
    const Range positions{p, std::min(p + kLongestCut, whole.positions.end)};
    const std::size_t height = std::max<std::size_t>(8, kTileElements / positions.size() / 8 * 8);
    for (std::size_t l = whole.lines.begin; l < whole.lines.end; l += height) {
      f(Tile{{l, std::min(l + height, whole.lines.end)}, positions});
    }
  }
}

}  // namespace minimand
