#include "scores/dense.hpp"

#include "common/lanes.hpp"
#include "common/watch.hpp"
#include "scores/padded.hpp"
#include "scores/simplex.hpp"

namespace minimand {

/// Some rows and columns of a matrix, and the padded tables that belong to them.
template <class Scalar, class T>
struct DensePatch {
  const Scalar* x;  // the first row
  std::size_t x_stride, rows, columns;
  const T* v;  // one padded row per column
  T* sums;     // the same
  T* scores;   // one padded row per row
  std::size_t stride;
};

namespace {

constexpr std::size_t kRows = 4;   // rows that share the load of a table; derived from registers
constexpr std::size_t kChunk = 3;  // vectors of a padded row that are summed at once; derived, too
constexpr std::size_t kColumns = 512;  // columns of a patch; safeguard: its tables stay in a cache
constexpr std::size_t kNumbers = 32768;  // in the rows of a patch; safeguard: they do too

/// scores_r += sum_j x_rj v_j for R rows, L vectors of it.
template <std::size_t R, std::size_t L, class Scalar, class T>
MINIMAND_INLINE void sum_columns(const DensePatch<Scalar, T>& patch, std::size_t row,
                                 std::size_t c) {
  const Scalar* const x = patch.x + row * patch.x_stride;
  T* const to = patch.scores + row * patch.stride + c;
  typename FullVector<T>::Type sums[R][L];
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t l = 0; l < L; ++l)
      sums[r][l] = load_full(to + r * patch.stride + l * kFull<T>);
  }
  const T* v = patch.v + c;
  for (std::size_t j = 0; j < patch.columns; ++j, v += patch.stride) {
    typename FullVector<T>::Type own[L];
    for (std::size_t l = 0; l < L; ++l) own[l] = load_full(v + l * kFull<T>);
    for (std::size_t r = 0; r < R; ++r) {
      const auto factor = static_cast<T>(x[r * patch.x_stride + j]);
      for (std::size_t l = 0; l < L; ++l) sums[r][l] += factor * own[l];
    }
  }
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t l = 0; l < L; ++l)
      store_full(to + r * patch.stride + l * kFull<T>, sums[r][l]);
  }
}

/// sums_j += sum_r x_rj scores_r for R rows, L vectors of it.
template <std::size_t R, std::size_t L, class Scalar, class T>
MINIMAND_INLINE void spread_rows(const DensePatch<Scalar, T>& patch, std::size_t row,
                                 std::size_t c) {
  const Scalar* const x = patch.x + row * patch.x_stride;
  const T* const from = patch.scores + row * patch.stride + c;
  typename FullVector<T>::Type own[R][L];
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t l = 0; l < L; ++l)
      own[r][l] = load_full(from + r * patch.stride + l * kFull<T>);
  }
  T* to = patch.sums + c;
  for (std::size_t j = 0; j < patch.columns; ++j, to += patch.stride) {
    typename FullVector<T>::Type sums[L];
    for (std::size_t l = 0; l < L; ++l) sums[l] = load_full(to + l * kFull<T>);
    for (std::size_t r = 0; r < R; ++r) {
      const auto factor = static_cast<T>(x[r * patch.x_stride + j]);
      for (std::size_t l = 0; l < L; ++l) sums[l] += factor * own[r][l];
    }
    for (std::size_t l = 0; l < L; ++l) store_full(to + l * kFull<T>, sums[l]);
  }
}

template <std::size_t L, class Scalar, class T>
MINIMAND_INLINE void sum_chunk(const DensePatch<Scalar, T>& patch, std::size_t c) {
  std::size_t row = 0;
  for (; row + kRows <= patch.rows; row += kRows) sum_columns<kRows, L>(patch, row, c);
  for (; row < patch.rows; ++row) sum_columns<1, L>(patch, row, c);
}

template <std::size_t L, class Scalar, class T>
MINIMAND_INLINE void spread_chunk(const DensePatch<Scalar, T>& patch, std::size_t c) {
  std::size_t row = 0;
  for (; row + kRows <= patch.rows; row += kRows) spread_rows<kRows, L>(patch, row, c);
  for (; row < patch.rows; ++row) spread_rows<1, L>(patch, row, c);
}

}  // namespace

#define MINIMAND_KERNELS(Scalar, T)                                  \
  MINIMAND_CLONES void sum_kernel(DensePatch<Scalar, T> patch) {     \
    constexpr std::size_t chunk = kChunk * kFull<T>;                 \
    std::size_t c = 0;                                               \
    for (; c + chunk <= patch.stride; c += chunk) {                  \
      sum_chunk<kChunk>(patch, c);                                   \
    }                                                                \
    if (patch.stride - c == 2 * kFull<T>) sum_chunk<2>(patch, c);    \
    if (patch.stride - c == kFull<T>) sum_chunk<1>(patch, c);        \
  }                                                                  \
  MINIMAND_CLONES void spread_kernel(DensePatch<Scalar, T> patch) {  \
    constexpr std::size_t chunk = kChunk * kFull<T>;                 \
    std::size_t c = 0;                                               \
    for (; c + chunk <= patch.stride; c += chunk) {                  \
      spread_chunk<kChunk>(patch, c);                                \
    }                                                                \
    if (patch.stride - c == 2 * kFull<T>) spread_chunk<2>(patch, c); \
    if (patch.stride - c == kFull<T>) spread_chunk<1>(patch, c);     \
  }
MINIMAND_KERNELS(float, float)
MINIMAND_KERNELS(float, double)
MINIMAND_KERNELS(double, double)

#define MINIMAND_COUNT(Scalar)                                                  \
  MINIMAND_CLONES std::int64_t count_kernel(std::span<const Scalar> line) {     \
    std::int64_t count = 0;                                                     \
    for (std::size_t j = 0; j < line.size(); ++j) count += line.data()[j] != 0; \
    return count;                                                               \
  }
MINIMAND_COUNT(float)
MINIMAND_COUNT(double)

template <class T, class Scalar>
void dense_simplex_product(const DenseMatrix<Scalar>& matrix, std::span<const double> v,
                           std::size_t width, Simplex curvature, std::span<double> g) {
  const std::size_t n = matrix.lines, d = matrix.length;
  const PaddedRows<T> table(v, width);
  const std::size_t stride = table.stride();
  const std::size_t height =
      std::clamp<std::size_t>(kNumbers / std::max<std::size_t>(d, 1) / kRows * kRows, kRows, 256);
  const auto splits = even_splits(n, part_count(n, 2 * matrix.size() * width, d * stride));
  TableSums<T> sums(g, width, splits.size() - 1);
  GiveUp stop;
  run_parts(splits, [&](Range range, std::size_t part) {
    std::vector<T> scores(height * stride);
    const auto over_columns = [&](Range rows, const auto& kernel) {
      for (std::size_t j = 0; j < d; j += kColumns) {
        kernel(DensePatch<Scalar, T>{matrix.values.data() + rows.begin * matrix.stride + j,
                                     matrix.stride, rows.size(), std::min(kColumns, d - j),
                                     table.data() + j * stride, sums.of(part) + j * stride,
                                     scores.data(), stride});
      }
    };
    for (std::size_t i = range.begin; i < range.end && !stop.leaves(part); i += height) {
      const Range rows{i, std::min(i + height, range.end)};
      for (std::size_t r = 0; r < rows.size(); ++r) {
        std::copy_n(table.data() + d * stride, stride, scores.data() + r * stride);
      }
      over_columns(rows, [](const DensePatch<Scalar, T>& patch) { sum_kernel(patch); });
      T* const total = sums.of(part) + d * stride;
      for (std::size_t r = rows.begin; r < rows.end; ++r) {
        T* const own = scores.data() + (r - rows.begin) * stride;
        simplex_row(curvature.p.data() + r * width, width, curvature.scale[r], own, own);
        for (std::size_t c = 0; c < width; ++c) total[c] += own[c];
      }
      over_columns(rows, [](const DensePatch<Scalar, T>& patch) { spread_kernel(patch); });
      sums.settle(part, rows.size() * d);
    }
  });
  stop.throw_if_left();
  sums.add_up();
}

template <class Scalar>
void count_nonzeros(const DenseMatrix<Scalar>& matrix, std::span<std::int64_t> counts) {
  parallel_ranges(matrix.lines, matrix.size(), [&](Range range, std::size_t) {
    for (std::size_t i = range.begin; i < range.end; ++i) counts[i] = count_kernel(matrix.line(i));
  });
}

template <class Scalar>
void copy_nonzeros(const DenseMatrix<Scalar>& matrix, std::span<const std::int32_t> starts,
                   std::span<std::int32_t> positions, std::span<Scalar> values) {
  parallel_ranges(matrix.lines, 2 * matrix.size(), [&](Range range, std::size_t) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const auto line = matrix.line(i);
      const auto end = static_cast<std::size_t>(starts[i + 1]);
      auto at = static_cast<std::size_t>(starts[i]);
      for (std::size_t j = 0; j < line.size() && at < end; ++j) {
        // Written always, kept only if not zero: no branch to mispredict.
        positions[at] = static_cast<std::int32_t>(j);
        values[at] = line[j];
        at += line[j] != 0;
      }
    }
  });
}

#define MINIMAND_PRODUCT(T, Scalar)                                                           \
  template void dense_simplex_product<T>(const DenseMatrix<Scalar>&, std::span<const double>, \
                                         std::size_t, Simplex, std::span<double>);
MINIMAND_PRODUCT(float, float)
MINIMAND_PRODUCT(double, float)
MINIMAND_PRODUCT(double, double)

#define MINIMAND_INSTANTIATE(Scalar)                                                     \
  template void count_nonzeros(const DenseMatrix<Scalar>&, std::span<std::int64_t>);     \
  template void copy_nonzeros(const DenseMatrix<Scalar>&, std::span<const std::int32_t>, \
                              std::span<std::int32_t>, std::span<Scalar>);
MINIMAND_INSTANTIATE(float)
MINIMAND_INSTANTIATE(double)

}  // namespace minimand
