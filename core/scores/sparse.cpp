#include "scores/sparse.hpp"

#include "common/row_kernels.hpp"
#include "common/watch.hpp"
#include "scores/padded.hpp"
#include "scores/simplex.hpp"

namespace minimand {

/// What a kernel reads and writes; rows of tables are padded to `stride`.
template <class T>
struct WidePass {
  const T* table;  // read at the columns of a row
  T* sums;         // added to at the columns of a row
  std::size_t stride, width;
  bool far;         // whether the tables are larger than a cache
  T* row;           // space for one padded row
  const double* x;  // of scatter: a row of numbers per major
  double* y;        // of gather: the result
  const double* p;
  const double* scale;
};

namespace {

constexpr std::size_t kChunk = 6;  // vectors of a row that are summed at once; safeguard: registers
constexpr std::size_t kAhead = 8;  // entries that a prefetch is ahead; safeguard
constexpr std::size_t kCache = 1 << 20;    // bytes of a table that stay in a cache; safeguard
constexpr std::size_t kRowsPerLook = 256;  // rows between two looks at the clock; safeguard

/// Prefetches the row of a table that a later entry will read.
template <class Row, class T>
MINIMAND_INLINE void fetch_row(const Row& row, std::size_t entry, const T* table,
                               std::size_t stride) {
  if (entry >= row.size()) return;
  const auto* const from = reinterpret_cast<const char*>(table + row.column(entry) * stride);
  for (std::size_t b = 0; b < stride * sizeof(T); b += kLine) __builtin_prefetch(from + b);
}

/// to = sum_e value_e table_{column_e}, L vectors of it; two sums hide the latency of additions.
template <std::size_t L, class Row, class T>
MINIMAND_INLINE void sum_rows(const Row& row, const T* table, std::size_t stride, bool far, T* to) {
  typename FullVector<T>::Type even[L] = {}, odd[L] = {};
  const std::size_t n = row.size();
  std::size_t e = 0;
  for (; e + 2 <= n; e += 2) {
    if (far) {
      fetch_row(row, e + kAhead, table, stride);
      fetch_row(row, e + kAhead + 1, table, stride);
    }
    const T* const one = table + row.column(e) * stride;
    const T* const other = table + row.column(e + 1) * stride;
    const auto x = static_cast<T>(row.values.data()[e]),
               y = static_cast<T>(row.values.data()[e + 1]);
    for (std::size_t l = 0; l < L; ++l) {
      even[l] += x * load_full(one + l * kFull<T>);
      odd[l] += y * load_full(other + l * kFull<T>);
    }
  }
  if (e < n) {
    const T* const one = table + row.column(e) * stride;
    const auto x = static_cast<T>(row.values.data()[e]);
    for (std::size_t l = 0; l < L; ++l) even[l] += x * load_full(one + l * kFull<T>);
  }
  for (std::size_t l = 0; l < L; ++l) store_full(to + l * kFull<T>, even[l] + odd[l]);
}

/// table_{column_e} += value_e from, L vectors of it.
template <std::size_t L, class Row, class T>
MINIMAND_INLINE void spread_row(const Row& row, const T* from, T* table, std::size_t stride,
                                bool far) {
  typename FullVector<T>::Type own[L];
  for (std::size_t l = 0; l < L; ++l) own[l] = load_full(from + l * kFull<T>);
  const std::size_t n = row.size();
  for (std::size_t e = 0; e < n; ++e) {
    if (far) fetch_row(row, e + kAhead, table, stride);
    T* const to = table + row.column(e) * stride;
    const auto x = static_cast<T>(row.values.data()[e]);
    for (std::size_t l = 0; l < L; ++l) {
      store_full(to + l * kFull<T>, load_full(to + l * kFull<T>) + x * own[l]);
    }
  }
}

/// Calls one of the two above for every chunk of at most kChunk vectors.
#define MINIMAND_BY_CHUNKS(CALL)                                     \
  for (std::size_t c = 0; c < pass.stride; c += kChunk * kFull<T>) { \
    const std::size_t left = (pass.stride - c) / kFull<T>;           \
    switch (left < kChunk ? left : kChunk) {                         \
      case 1:                                                        \
        CALL(1);                                                     \
        break;                                                       \
      case 2:                                                        \
        CALL(2);                                                     \
        break;                                                       \
      case 3:                                                        \
        CALL(3);                                                     \
        break;                                                       \
      case 4:                                                        \
        CALL(4);                                                     \
        break;                                                       \
      case 5:                                                        \
        CALL(5);                                                     \
        break;                                                       \
      default:                                                       \
        CALL(6);                                                     \
    }                                                                \
  }

template <class Row, class T>
MINIMAND_INLINE void read_tables(const Row& row, const WidePass<T>& pass) {
#define MINIMAND_SUM(L) sum_rows<L>(row, pass.table + c, pass.stride, pass.far, pass.row + c)
  MINIMAND_BY_CHUNKS(MINIMAND_SUM)
#undef MINIMAND_SUM
}

template <class Row, class T>
MINIMAND_INLINE void add_to_tables(const Row& row, const WidePass<T>& pass) {
#define MINIMAND_SPREAD(L) spread_row<L>(row, pass.row + c, pass.sums + c, pass.stride, pass.far)
  MINIMAND_BY_CHUNKS(MINIMAND_SPREAD)
#undef MINIMAND_SPREAD
}

template <class From, class To>
MINIMAND_INLINE void copy_row(const From* from, std::size_t width, To* to) {
  for (std::size_t c = 0; c < width; ++c) to[c] = static_cast<To>(from[c]);
}

/// Of padded rows.
template <class T>
MINIMAND_INLINE void add_row(const T* from, std::size_t stride, T* to) {
  for (std::size_t c = 0; c < stride; c += kFull<T>) {
    store_full(to + c, load_full(to + c) + load_full(from + c));
  }
}

}  // namespace

#define MINIMAND_KERNELS(Matrix)                                                                   \
  MINIMAND_CLONES void gather_kernel(const Matrix& matrix, Range majors, WidePass<double> pass) {  \
    for (std::size_t m = majors.begin; m < majors.end; ++m) {                                      \
      read_tables(row_of(matrix, m), pass);                                                        \
      copy_row(pass.row, pass.width, pass.y + m * pass.width);                                     \
    }                                                                                              \
  }                                                                                                \
  MINIMAND_CLONES void scatter_kernel(const Matrix& matrix, Range majors, WidePass<double> pass) { \
    for (std::size_t m = majors.begin; m < majors.end; ++m) {                                      \
      copy_row(pass.x + m * pass.width, pass.width, pass.row);                                     \
      add_to_tables(row_of(matrix, m), pass);                                                      \
    }                                                                                              \
  }
MINIMAND_FOR_EACH_SPARSE_ROWS(MINIMAND_KERNELS)

#define MINIMAND_SIMPLEX(Matrix, T)                                                         \
  MINIMAND_CLONES void simplex_kernel(const Matrix& matrix, Range rows, WidePass<T> pass) { \
    const T* const shift = pass.table + matrix.minors * pass.stride;                        \
    T* const total = pass.sums + matrix.minors * pass.stride;                               \
    for (std::size_t i = rows.begin; i < rows.end; ++i) {                                   \
      const auto row = row_of(matrix, i);                                                   \
      read_tables(row, pass);                                                               \
      add_row(shift, pass.stride, pass.row);                                                \
      simplex_row(pass.p + i * pass.width, pass.width, pass.scale[i], pass.row, pass.row);  \
      add_row(pass.row, pass.stride, total);                                                \
      add_to_tables(row, pass);                                                             \
    }                                                                                       \
  }
#define MINIMAND_IN_DOUBLE(Matrix) MINIMAND_SIMPLEX(Matrix, double)
MINIMAND_FOR_EACH_SPARSE_ROWS(MINIMAND_IN_DOUBLE)
using Short = Compressed<float, std::int32_t>;
using Long = Compressed<float, std::int64_t>;
MINIMAND_SIMPLEX(Short, float)
MINIMAND_SIMPLEX(Long, float)

template <class Scalar, class Index>
void gather_wide(const Compressed<Scalar, Index>& matrix, std::span<const double> x,
                 std::size_t width, std::span<double> y) {
  const PaddedRows<double> table(x, width);
  const std::size_t stride = table.stride();
  run_parts(matrix.splits(matrix.stored() * width), [&](Range majors, std::size_t) {
    std::vector<double> row(stride);
    WidePass<double> pass{};
    pass.table = table.data();
    pass.stride = stride;
    pass.width = width;
    pass.row = row.data();
    pass.far = matrix.minors * stride * sizeof(double) > kCache;
    pass.y = y.data();
    gather_kernel(matrix, majors, pass);
  });
}

template <class Scalar, class Index>
void scatter_wide(const Compressed<Scalar, Index>& matrix, std::span<const double> x,
                  std::size_t width, std::span<double> y) {
  const std::size_t stride = padded(width);
  const auto splits = matrix.splits(matrix.stored() * width, matrix.minors * stride);
  PaddedSums sums(y, width, splits.size() - 1);
  run_parts(splits, [&](Range majors, std::size_t part) {
    std::vector<double> row(stride);
    WidePass<double> pass{};
    pass.sums = sums.of(part);
    pass.stride = stride;
    pass.width = width;
    pass.row = row.data();
    pass.far = matrix.minors * stride * sizeof(double) > kCache;
    pass.x = x.data();
    scatter_kernel(matrix, majors, pass);
  });
  sums.add_up();
}

template <class T, class Scalar, class Index>
void simplex_product(const Compressed<Scalar, Index>& rows, std::span<const double> v,
                     std::size_t width, Simplex curvature, std::span<double> g) {
  const PaddedRows<T> table(v, width);
  const std::size_t stride = table.stride();
  const auto splits = rows.splits(2 * rows.stored() * width, rows.minors * stride);
  TableSums<T> sums(g, width, splits.size() - 1);
  GiveUp stop;
  run_parts(splits, [&](Range range, std::size_t part) {
    std::vector<T> row(stride);
    WidePass<T> pass{};
    pass.table = table.data();
    pass.sums = sums.of(part);
    pass.stride = stride;
    pass.width = width;
    pass.row = row.data();
    pass.far = rows.minors * stride * sizeof(T) > kCache;
    pass.p = curvature.p.data();
    pass.scale = curvature.scale.data();
    for (std::size_t i = range.begin; i < range.end && !stop.leaves(part); i += kRowsPerLook) {
      const std::size_t end = std::min(i + kRowsPerLook, range.end);
      simplex_kernel(rows, {i, end}, pass);
      sums.settle(part, static_cast<std::size_t>(rows.indptr[end] - rows.indptr[i]));
    }
  });
  stop.throw_if_left();
  sums.add_up();
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                                                        \
  template void gather_wide(const Compressed<Scalar, Index>&, std::span<const double>,             \
                            std::size_t, std::span<double>);                                       \
  template void scatter_wide(const Compressed<Scalar, Index>&, std::span<const double>,            \
                             std::size_t, std::span<double>);                                      \
  template void simplex_product<double>(const Compressed<Scalar, Index>&, std::span<const double>, \
                                        std::size_t, Simplex, std::span<double>);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)
template void simplex_product<float>(const Short&, std::span<const double>, std::size_t, Simplex,
                                     std::span<double>);
template void simplex_product<float>(const Long&, std::span<const double>, std::size_t, Simplex,
                                     std::span<double>);

}  // namespace minimand
