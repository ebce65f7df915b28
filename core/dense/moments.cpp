#include "dense/moments.hpp"

#include "common/lanes.hpp"

namespace minimand {
namespace {

/// The lines are columns: reduce each of them.
template <class Scalar>
MINIMAND_INLINE void moments_along(const DenseMatrix<Scalar>& matrix, Tile tile,
                                   std::span<const double> h, std::span<double> first,
                                   std::span<double> second) {
  const std::size_t n = tile.positions.end - tile.positions.begin;
  const double* weight = h.data() + tile.positions.begin;
  for (std::size_t l = tile.lines.begin; l < tile.lines.end; ++l) {
    const Scalar* x = matrix.values.data() + l * matrix.stride + tile.positions.begin;
    Lanes sum0 = {}, sum1 = {}, square0 = {}, square1 = {};
    std::size_t p = 0;
    for (; p + 2 * kLanes <= n; p += 2 * kLanes) {
      const Lanes here = load_lanes(x + p);
      const Lanes next = load_lanes(x + p + kLanes);
      const Lanes weighted_here = load_lanes(weight + p) * here;
      const Lanes weighted_next = load_lanes(weight + p + kLanes) * next;
      sum0 += weighted_here;
      sum1 += weighted_next;
      square0 += weighted_here * here;
      square1 += weighted_next * next;
    }
    double tail = 0.0, tail_square = 0.0;
    for (; p < n; ++p) {
      const double value = static_cast<double>(x[p]);
      tail += weight[p] * value;
      tail_square += weight[p] * value * value;
    }
    first.data()[l] += sum_lanes(sum0 + sum1) + tail;
    second.data()[l] += sum_lanes(square0 + square1) + tail_square;
  }
}

/// The lines are rows: add each of them.
template <class Scalar>
MINIMAND_INLINE void moments_across(const DenseMatrix<Scalar>& matrix, Tile tile,
                                    std::span<const double> h, std::span<double> first,
                                    std::span<double> second) {
  double* __restrict to_first = first.data();
  double* __restrict to_second = second.data();
  for (std::size_t l = tile.lines.begin; l < tile.lines.end; ++l) {
    const Scalar* x = matrix.values.data() + l * matrix.stride;
    const double weight = h.data()[l];
    for (std::size_t p = tile.positions.begin; p < tile.positions.end; ++p) {
      const double value = static_cast<double>(x[p]);
      const double weighted = weight * value;
      to_first[p] += weighted;
      to_second[p] += weighted * value;
    }
  }
}

}  // namespace

#define MINIMAND_KERNEL(Scalar)                                                             \
  void add_moments(const DenseMatrix<Scalar>& matrix, Tile tile, std::span<const double> h, \
                   std::span<double> first, std::span<double> second);                      \
  MINIMAND_CLONES void add_moments(const DenseMatrix<Scalar>& matrix, Tile tile,            \
                                   std::span<const double> h, std::span<double> first,      \
                                   std::span<double> second) {                              \
    if (matrix.by_rows) {                                                                   \
      moments_across(matrix, tile, h, first, second);                                       \
    } else {                                                                                \
      moments_along(matrix, tile, h, first, second);                                        \
    }                                                                                       \
  }
MINIMAND_KERNEL(float)
MINIMAND_KERNEL(double)

template <class Scalar>
void dense_moments(const DenseMatrix<Scalar>& matrix, std::span<const double> h,
                   std::span<double> first, std::span<double> second) {
  const std::size_t rows = matrix.rows();
  const std::size_t work = 2 * matrix.size() / kProductsPerOperation;
  const std::size_t copy = 2 * first.size() / kProductsPerOperation;
  const auto splits = even_splits(rows, part_count(rows, work, copy));
  PrivateSums firsts(first, splits.size() - 1);
  PrivateSums seconds(second, splits.size() - 1);
  run_parts(splits, [&](Range own, std::size_t part) {
    const Tile whole =
        matrix.by_rows ? Tile{own, {0, matrix.length}} : Tile{{0, matrix.lines}, own};
    for_each_tile(
        whole, [&](Tile tile) { add_moments(matrix, tile, h, firsts.of(part), seconds.of(part)); });
  });
  firsts.add_up();
  seconds.add_up();
}

template void dense_moments(const DenseMatrix<float>&, std::span<const double>, std::span<double>,
                            std::span<double>);
template void dense_moments(const DenseMatrix<double>&, std::span<const double>, std::span<double>,
                            std::span<double>);

}  // namespace minimand
