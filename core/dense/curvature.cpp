#include "dense/curvature.hpp"

#include "dense/tiles.hpp"

namespace minimand {
namespace {

/// Rows of a block, which stays in a cache between the two halves of the product. Blocks of a
/// C-ordered matrix (2^12 elements) fit the first-level cache. Blocks of an F-ordered one are
/// larger (2^18 elements), because short pieces of many columns would interrupt the prefetcher.
/// Safeguards.
std::size_t block_height(std::size_t columns, bool by_rows) {
  const std::size_t elements = std::size_t{1} << (by_rows ? 12 : 18);
  const std::size_t height = elements / std::max<std::size_t>(1, columns) / 4 * 4;
  return std::clamp<std::size_t>(height, 4, 4096);
}

template <class Scalar>
void scores_of(const DenseMatrix<Scalar>& matrix, Range rows, std::span<const double> v,
               std::span<double> scores) {
  if (matrix.by_rows) {
    add_line_dots(matrix, Tile{rows, {0, matrix.length}}, v, 1, scores);
  } else {
    add_line_sums(matrix, Tile{{0, matrix.lines}, rows}, v, scores);
  }
}

template <class Scalar>
void combine_rows(const DenseMatrix<Scalar>& matrix, Range rows, std::span<const double> weights,
                  std::span<double> g) {
  if (matrix.by_rows) {
    add_line_sums(matrix, Tile{rows, {0, matrix.length}}, weights, g);
  } else {
    add_line_dots(matrix, Tile{{0, matrix.lines}, rows}, weights, 1, g);
  }
}

}  // namespace

template <class Scalar>
void dense_curvature_product(const DenseMatrix<Scalar>& matrix, std::span<const double> v,
                             double shift, std::span<const double> h, std::span<double> g,
                             std::span<double> scores) {
  const std::size_t rows = matrix.rows();
  const std::size_t height = block_height(matrix.columns(), matrix.by_rows);
  const std::size_t work = 2 * matrix.size() / kProductsPerOperation;
  const auto splits = even_splits(rows, part_count(rows, work, g.size() / kProductsPerOperation));
  PrivateSums sums(g, splits.size() - 1);
  std::vector<double> weighted(rows);
  std::fill(scores.begin(), scores.end(), 0.0);
  run_parts(splits, [&](Range range, std::size_t part) {
    for (std::size_t i = range.begin; i < range.end; i += height) {
      const Range block{i, std::min(i + height, range.end)};
      scores_of(matrix, block, v, scores);
      for (std::size_t k = block.begin; k < block.end; ++k) {
        scores[k] += shift;
        weighted[k] = h[k] * scores[k];
      }
      combine_rows(matrix, block, weighted, sums.of(part));
    }
  });
  sums.add_up();
}

#define MINIMAND_INSTANTIATE(Scalar)                                                         \
  template void dense_curvature_product(const DenseMatrix<Scalar>&, std::span<const double>, \
                                        double, std::span<const double>, std::span<double>,  \
                                        std::span<double>);
MINIMAND_INSTANTIATE(float)
MINIMAND_INSTANTIATE(double)

}  // namespace minimand
