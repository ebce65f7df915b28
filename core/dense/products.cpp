#include "dense/products.hpp"

#include "dense/tiles.hpp"

namespace minimand {
namespace {

/// (n, width) row by row into width vectors one after the other.
std::vector<double> separated(std::span<const double> interleaved, std::size_t width) {
  const std::size_t n = interleaved.size() / width;
  std::vector<double> result(interleaved.size());
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < width; ++c) result[c * n + i] = interleaved[i * width + c];
  }
  return result;
}

void interleave(std::span<const double> separate, std::size_t width, std::span<double> result) {
  const std::size_t n = separate.size() / width;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < width; ++c) result[i * width + c] = separate[c * n + i];
  }
}

/// How a product is split among threads: over the index of its result if that is long enough,
/// otherwise over the index that is summed, with private sums.
struct Shares {
  bool over_result;
  std::vector<std::size_t> splits;
  std::size_t private_parts() const { return over_result ? 1 : splits.size() - 1; }
};

Shares share_sums(std::size_t result_size, std::size_t summed_size, std::size_t width) {
  const std::size_t copy = result_size * width;
  const std::size_t work = copy * summed_size / kProductsPerOperation;
  const std::size_t parts = part_count(summed_size, work, copy / kProductsPerOperation);
  return {false, even_splits(summed_size, parts)};
}

Shares share(std::size_t result_size, std::size_t summed_size, std::size_t width) {
  const std::size_t work = result_size * summed_size * width / kProductsPerOperation;
  const std::size_t parts = part_count(std::max(result_size, summed_size), work);
  const bool over_result = result_size >= std::min(summed_size, 16 * parts);
  if (!over_result) return share_sums(result_size, summed_size, width);
  return {true, even_splits(result_size, parts)};
}

/// out (width, lines) = dots of the lines with x (width, length).
template <class Scalar>
void all_line_dots(const DenseMatrix<Scalar>& matrix, std::span<const double> x, std::size_t width,
                   std::span<double> out) {
  const Shares shares = share(matrix.lines, matrix.length, width);
  PrivateSums sums(out, shares.private_parts());
  run_parts(shares.splits, [&](Range range, std::size_t part) {
    const std::span<double> own = sums.of(shares.over_result ? 0 : part);
    const Tile whole =
        shares.over_result ? Tile{range, {0, matrix.length}} : Tile{{0, matrix.lines}, range};
    for_each_tile(whole, [&](Tile tile) { add_line_dots(matrix, tile, x, width, own); });
  });
  sums.add_up();
}

/// out (width, length) = sums of the lines weighted by x (width, lines).
template <class Scalar>
void all_line_sums(const DenseMatrix<Scalar>& matrix, std::span<const double> x, std::size_t width,
                   std::span<double> out) {
  Shares shares = share(matrix.length, matrix.lines, width);
  // The prefetcher does not help with short pieces of many lines: use whole lines unless long.
  if (shares.over_result && matrix.lines > matrix.length) {
    shares = share_sums(matrix.length, matrix.lines, width);
  }
  PrivateSums sums(out, shares.private_parts());
  run_parts(shares.splits, [&](Range range, std::size_t part) {
    const std::span<double> own = sums.of(shares.over_result ? 0 : part);
    const Tile whole =
        shares.over_result ? Tile{{0, matrix.lines}, range} : Tile{range, {0, matrix.length}};
    for_each_tile(whole, [&](Tile tile) {
      for (std::size_t c = 0; c < width; ++c) {
        add_line_sums(matrix, tile, x.subspan(c * matrix.lines, matrix.lines),
                      own.subspan(c * matrix.length, matrix.length));
      }
    });
  });
  sums.add_up();
}

/// The product whose result is indexed by rows (or else by columns).
template <class Scalar>
void product(const DenseMatrix<Scalar>& matrix, bool result_by_rows, std::span<const double> x,
             std::size_t width, std::span<double> result) {
  if (width == 1) {
    if (matrix.by_rows == result_by_rows) return all_line_dots(matrix, x, 1, result);
    return all_line_sums(matrix, x, 1, result);
  }
  if (width == 0) return;
  const std::vector<double> operands = separated(x, width);
  std::vector<double> results(result.size());
  if (matrix.by_rows == result_by_rows) {
    all_line_dots<Scalar>(matrix, operands, width, results);
  } else {
    all_line_sums<Scalar>(matrix, operands, width, results);
  }
  interleave(results, width, result);
}

}  // namespace

template <class Scalar>
void dense_matvec(const DenseMatrix<Scalar>& matrix, std::span<const double> w, std::size_t width,
                  std::span<double> z) {
  product(matrix, true, w, width, z);
}

template <class Scalar>
void dense_rmatvec(const DenseMatrix<Scalar>& matrix, std::span<const double> u, std::size_t width,
                   std::span<double> v) {
  product(matrix, false, u, width, v);
}

#define MINIMAND_INSTANTIATE(Scalar)                                                            \
  template void dense_matvec(const DenseMatrix<Scalar>&, std::span<const double>, std::size_t,  \
                             std::span<double>);                                                \
  template void dense_rmatvec(const DenseMatrix<Scalar>&, std::span<const double>, std::size_t, \
                              std::span<double>);
MINIMAND_INSTANTIATE(float)
MINIMAND_INSTANTIATE(double)

}  // namespace minimand
