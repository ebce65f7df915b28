#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/lanes.hpp"
#include "dense/matrix.hpp"
#include "sparse/compressed.hpp"
#include "sparse/entries.hpp"

// Operations on single rows of a matrix, dense or CSR, for kernels that visit row after row. They
// are inlined into the kernels, which are compiled once per instruction set (see targets.hpp).
namespace minimand {

inline constexpr std::size_t kLine = 64;       // bytes of a cache line; definition (x86-64, ARM)
inline constexpr std::size_t kFetched = 4096;  // bytes of a row that are prefetched; safeguard

/// Prefetches memory that will be read soon, at most its first kFetched bytes.
template <class Scalar>
MINIMAND_INLINE void fetch_ahead(const Scalar* from, std::size_t count) {
  if (count == 0) return;
  const auto* const begin = reinterpret_cast<const char*>(from);
  std::size_t bytes = count * sizeof(Scalar);
  if (bytes > kFetched) bytes = kFetched;
  for (std::size_t k = 0; k < bytes; k += kLine) __builtin_prefetch(begin + k);
  __builtin_prefetch(begin + bytes - 1);  // rows need not begin at a cache line
}

template <class Scalar, class Index>
struct SparseRow {
  static constexpr bool kSparse = true;
  std::span<const Scalar> values;
  std::span<const Index> indices;

  MINIMAND_INLINE std::size_t size() const { return values.size(); }
  MINIMAND_INLINE std::size_t column(std::size_t k) const {
    return static_cast<std::size_t>(indices.data()[k]);
  }
  MINIMAND_INLINE double value(std::size_t k) const {
    return static_cast<double>(values.data()[k]);
  }
  MINIMAND_INLINE double dot(std::span<const double> w) const {
    return sparse_dot(values, indices, w);
  }
  MINIMAND_INLINE void add_to(std::span<double> w, double scale) const {
    sparse_axpy(scale, values, indices, w);
  }
  MINIMAND_INLINE void fetch() const {
    fetch_ahead(indices.data(), indices.size());
    fetch_ahead(values.data(), values.size());
  }
};

template <class Scalar>
struct DenseRow {
  static constexpr bool kSparse = false;
  std::span<const Scalar> values;

  MINIMAND_INLINE std::size_t size() const { return values.size(); }
  MINIMAND_INLINE std::size_t column(std::size_t k) const { return k; }
  MINIMAND_INLINE double value(std::size_t k) const {
    return static_cast<double>(values.data()[k]);
  }
  /// A vector of entries from k on.
  MINIMAND_INLINE Lanes lanes(std::size_t k) const { return load_lanes(values.data() + k); }
  MINIMAND_INLINE double dot(std::span<const double> w) const {
    return minimand::dot(values.data(), w.data(), values.size());
  }
  MINIMAND_INLINE void add_to(std::span<double> w, double scale) const {
    double* __restrict to = w.data();
    for (std::size_t k = 0; k < values.size(); ++k) to[k] += scale * value(k);
  }
  MINIMAND_INLINE void fetch() const { fetch_ahead(values.data(), values.size()); }
};

template <class Scalar, class Index>
MINIMAND_INLINE SparseRow<Scalar, Index> row_of(const Compressed<Scalar, Index>& matrix,
                                                std::size_t i) {
  const auto from = static_cast<std::size_t>(matrix.indptr.data()[i]);
  const auto size = static_cast<std::size_t>(matrix.indptr.data()[i + 1]) - from;
  return {{matrix.values.data() + from, size}, {matrix.indices.data() + from, size}};
}

template <class Scalar>
MINIMAND_INLINE DenseRow<Scalar> row_of(const DenseMatrix<Scalar>& matrix, std::size_t i) {
  return {{matrix.values.data() + i * matrix.stride, matrix.length}};
}

template <class Matrix>
using RowOf = decltype(row_of(std::declval<const Matrix&>(), std::size_t{0}));

/// |x|^2.
template <class Row>
MINIMAND_INLINE double square(const Row& row) {
  double sum = 0.0;
  for (std::size_t k = 0; k < row.size(); ++k) sum += row.value(k) * row.value(k);
  return sum;
}

/// sum_j weights_j x_j^2.
template <class Row>
MINIMAND_INLINE double square(const Row& row, std::span<const double> weights) {
  double sum = 0.0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    sum += row.value(k) * row.value(k) * weights.data()[row.column(k)];
  }
  return sum;
}

/// w_j += scale weights_j x_j.
template <class Row>
MINIMAND_INLINE void add_weighted(const Row& row, double scale, std::span<const double> weights,
                                  std::span<double> w) {
  const double* const by = weights.data();
  double* const __restrict to = w.data();
  for (std::size_t k = 0; k < row.size(); ++k) {
    const std::size_t j = row.column(k);
    to[j] += scale * by[j] * row.value(k);
  }
}

/// The numbers that a matrix holds.
template <class Scalar, class Index>
std::size_t stored_numbers(const Compressed<Scalar, Index>& matrix) {
  return matrix.stored();
}
template <class Scalar>
std::size_t stored_numbers(const DenseMatrix<Scalar>& matrix) {
  return matrix.size();
}

/// The longest row.
template <class Scalar, class Index>
std::size_t longest_row(const Compressed<Scalar, Index>& matrix) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < matrix.majors(); ++i) most = std::max(most, matrix.size_of(i));
  return most;
}
template <class Scalar>
std::size_t longest_row(const DenseMatrix<Scalar>& matrix) {
  return matrix.length;
}

using SparseFloat32Int32 = Compressed<float, std::int32_t>;
using SparseFloat32Int64 = Compressed<float, std::int64_t>;
using SparseFloat64Int32 = Compressed<double, std::int32_t>;
using SparseFloat64Int64 = Compressed<double, std::int64_t>;
using DenseFloat32 = DenseMatrix<float>;
using DenseFloat64 = DenseMatrix<double>;

}  // namespace minimand

/// Calls MACRO(Matrix) for every kind of matrix whose rows the library visits. Kernels that are
/// compiled once per instruction set cannot be templates, so macros instantiate them.
#define MINIMAND_FOR_EACH_SPARSE_ROWS(MACRO) \
  MACRO(SparseFloat32Int32)                  \
  MACRO(SparseFloat32Int64)                  \
  MACRO(SparseFloat64Int32)                  \
  MACRO(SparseFloat64Int64)
#define MINIMAND_FOR_EACH_DENSE_ROWS(MACRO) \
  MACRO(DenseFloat32)                       \
  MACRO(DenseFloat64)
#define MINIMAND_FOR_EACH_ROWS(MACRO)  \
  MINIMAND_FOR_EACH_SPARSE_ROWS(MACRO) \
  MINIMAND_FOR_EACH_DENSE_ROWS(MACRO)
