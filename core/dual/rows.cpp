#include "dual/rows.hpp"

#include "dual/ascent.hpp"
#include "lanes.hpp"
#include "sparse/entries.hpp"

namespace minimand {
namespace {

template <class Scalar, class Index>
struct SparseRows {
  Compressed<Scalar, Index> matrix;
  std::span<const double> inverse;

  MINIMAND_INLINE std::span<const Index> indices(std::size_t i) const {
    const Index* const ends = matrix.indptr.data() + i;
    return {matrix.indices.data() + ends[0], static_cast<std::size_t>(ends[1] - ends[0])};
  }
  MINIMAND_INLINE std::span<const Scalar> values(std::size_t i) const {
    const Index* const ends = matrix.indptr.data() + i;
    return {matrix.values.data() + ends[0], static_cast<std::size_t>(ends[1] - ends[0])};
  }
  MINIMAND_INLINE void fetch(std::size_t i) const {
    const auto from = static_cast<std::size_t>(matrix.indptr.data()[i]);
    const auto to = static_cast<std::size_t>(matrix.indptr.data()[i + 1]);
    for (std::size_t k = from; k < to && k < from + 256; k += 64 / sizeof(Index)) {
      __builtin_prefetch(matrix.indices.data() + k);
    }
    for (std::size_t k = from; k < to && k < from + 256; k += 64 / sizeof(Scalar)) {
      __builtin_prefetch(matrix.values.data() + k);
    }
  }
  MINIMAND_INLINE double dot(std::size_t i, std::span<const double> w) const {
    return sparse_dot(values(i), indices(i), w);
  }
  double square(std::size_t i) const {
    const auto index = indices(i);
    const auto value = values(i);
    double sum = 0.0;
    for (std::size_t k = 0; k < index.size(); ++k) {
      const auto x = static_cast<double>(value[k]);
      sum +=
          x * x * (inverse.size() == 1 ? inverse[0] : inverse[static_cast<std::size_t>(index[k])]);
    }
    return sum;
  }
  MINIMAND_INLINE void add(std::size_t i, double scale, std::span<double> w) const {
    if (inverse.size() == 1) {
      sparse_axpy(scale * inverse.data()[0], values(i), indices(i), w);
      return;
    }
    const auto index = indices(i);
    const auto value = values(i);
    for (std::size_t k = 0; k < index.size(); ++k) {
      const auto j = static_cast<std::size_t>(index.data()[k]);
      w.data()[j] += scale * inverse.data()[j] * static_cast<double>(value.data()[k]);
    }
  }
};

template <class Scalar>
struct DenseRowsOf {
  DenseMatrix<Scalar> matrix;
  std::span<const double> inverse;

  MINIMAND_INLINE const Scalar* row(std::size_t i) const {
    return matrix.values.data() + i * matrix.stride;
  }
  MINIMAND_INLINE void fetch(std::size_t i) const {
    const Scalar* const from = row(i);
    for (std::size_t k = 0; k < matrix.length && k < 256; k += 64 / sizeof(Scalar)) {
      __builtin_prefetch(from + k);
    }
  }
  MINIMAND_INLINE double dot(std::size_t i, std::span<const double> w) const {
    return minimand::dot(row(i), w.data(), matrix.length);
  }
  double square(std::size_t i) const {
    const Scalar* const x = row(i);
    double sum = 0.0;
    for (std::size_t j = 0; j < matrix.length; ++j) {
      const auto value = static_cast<double>(x[j]);
      sum += value * value * (inverse.size() == 1 ? inverse[0] : inverse[j]);
    }
    return sum;
  }
  MINIMAND_INLINE void add(std::size_t i, double scale, std::span<double> w) const {
    const Scalar* const x = row(i);
    double* __restrict to = w.data();
    const std::size_t d = matrix.length;
    if (inverse.size() == 1) {
      const double factor = scale * inverse.data()[0];
      for (std::size_t j = 0; j < d; ++j) to[j] += factor * static_cast<double>(x[j]);
    } else {
      const double* by = inverse.data();
      for (std::size_t j = 0; j < d; ++j) to[j] += scale * by[j] * static_cast<double>(x[j]);
    }
  }
};

}  // namespace

#define MINIMAND_KERNEL(Rows)                                                             \
  MINIMAND_CLONES DualReport ascent_kernel(DualAscent<Rows>& ascent, std::int64_t epochs, \
                                           double tolerance, Shuffler random) {           \
    return ascent.run(epochs, tolerance, random);                                         \
  }
#define MINIMAND_SPARSE_KERNEL(Scalar, Index)                     \
  using Rows_##Scalar##_##Index = SparseRows<Scalar, std::Index>; \
  MINIMAND_KERNEL(Rows_##Scalar##_##Index)

namespace {
MINIMAND_SPARSE_KERNEL(float, int32_t)
MINIMAND_SPARSE_KERNEL(float, int64_t)
MINIMAND_SPARSE_KERNEL(double, int32_t)
MINIMAND_SPARSE_KERNEL(double, int64_t)
MINIMAND_KERNEL(DenseRowsOf<float>)
MINIMAND_KERNEL(DenseRowsOf<double>)

template <class Rows>
DualReport ascend(const Rows& rows, const DualProblem& problem, DualState state,
                  std::int64_t epochs, double tolerance, std::uint64_t seed) {
  DualAscent<Rows> ascent{rows, problem, state};
  return ascent_kernel(ascent, epochs, tolerance, Shuffler{seed | 1});
}
}  // namespace

template <class Scalar, class Index>
DualReport ascend_rows(const Compressed<Scalar, Index>& matrix, const DualProblem& problem,
                       DualState state, std::int64_t epochs, double tolerance, std::uint64_t seed) {
  return ascend(SparseRows<Scalar, Index>{matrix, problem.inverse}, problem, state, epochs,
                tolerance, seed);
}

template <class Scalar>
DualReport ascend_rows(const DenseMatrix<Scalar>& matrix, const DualProblem& problem,
                       DualState state, std::int64_t epochs, double tolerance, std::uint64_t seed) {
  return ascend(DenseRowsOf<Scalar>{matrix, problem.inverse}, problem, state, epochs, tolerance,
                seed);
}

template <class Scalar, class Index>
void row_squares(const Compressed<Scalar, Index>& matrix, std::span<const double> inverse,
                 std::span<double> result) {
  const SparseRows<Scalar, Index> rows{matrix, inverse};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = rows.square(i);
}

template <class Scalar>
void row_squares(const DenseMatrix<Scalar>& matrix, std::span<const double> inverse,
                 std::span<double> result) {
  const DenseRowsOf<Scalar> rows{matrix, inverse};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = rows.square(i);
}

#define MINIMAND_INSTANTIATE(Matrix)                                                          \
  template DualReport ascend_rows(const Matrix&, const DualProblem&, DualState, std::int64_t, \
                                  double, std::uint64_t);                                     \
  template void row_squares(const Matrix&, std::span<const double>, std::span<double>);
#define MINIMAND_INSTANTIATE_COMPRESSED(Scalar, Index)              \
  using Matrix_##Scalar##_##Index = Compressed<Scalar, std::Index>; \
  MINIMAND_INSTANTIATE(Matrix_##Scalar##_##Index)
MINIMAND_INSTANTIATE_COMPRESSED(float, int32_t)
MINIMAND_INSTANTIATE_COMPRESSED(float, int64_t)
MINIMAND_INSTANTIATE_COMPRESSED(double, int32_t)
MINIMAND_INSTANTIATE_COMPRESSED(double, int64_t)
MINIMAND_INSTANTIATE(DenseMatrix<float>)
MINIMAND_INSTANTIATE(DenseMatrix<double>)

}  // namespace minimand
