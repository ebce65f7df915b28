#include "dual/rows.hpp"

#include "common/row_kernels.hpp"
#include "dual/ascent.hpp"

namespace minimand {
namespace {

/// Rows with the factors 1 / l2_j that go with their columns; one number where all are equal.
template <class Matrix>
struct PenalisedRows {
  Matrix matrix;
  std::span<const double> inverse;

  std::size_t entries() const { return stored_numbers(matrix); }
  MINIMAND_INLINE void fetch(std::size_t i) const { row_of(matrix, i).fetch(); }
  MINIMAND_INLINE double dot(std::size_t i, std::span<const double> w) const {
    return row_of(matrix, i).dot(w);
  }
  double square(std::size_t i) const {
    const auto row = row_of(matrix, i);
    return inverse.size() == 1 ? inverse[0] * minimand::square(row)
                               : minimand::square(row, inverse);
  }
  MINIMAND_INLINE void add(std::size_t i, double scale, std::span<double> w) const {
    if (inverse.size() == 1) {
      row_of(matrix, i).add_to(w, scale * inverse.data()[0]);
    } else {
      add_weighted(row_of(matrix, i), scale, inverse, w);
    }
  }
};

#define MINIMAND_KERNEL_OF(Matrix, Psi)                                             \
  MINIMAND_CLONES void sweep_kernel(DualAscent<PenalisedRows<Matrix>, Psi>& ascent, \
                                    DualPart& part) {                               \
    ascent.sweep(part);                                                             \
  }
#define MINIMAND_KERNEL(Matrix)      \
  MINIMAND_KERNEL_OF(Matrix, Pieces) \
  MINIMAND_KERNEL_OF(Matrix, Softplus)
MINIMAND_FOR_EACH_ROWS(MINIMAND_KERNEL)

template <class Matrix>
DualReport ascend(const Matrix& matrix, const DualPsi& psi, const DualProblem& problem,
                  DualState state, std::int64_t epochs, double tolerance, std::uint64_t seed) {
  return std::visit(
      [&]<class Psi>(const Psi& function) {
        DualAscent<PenalisedRows<Matrix>, Psi> ascent{
            {matrix, problem.inverse}, function, problem, state};
        return ascent.run(epochs, tolerance, Shuffler::of(seed),
                          [](auto& of, DualPart& part) { sweep_kernel(of, part); });
      },
      psi);
}

template <class Matrix>
void squares(const Matrix& matrix, std::span<const double> inverse, std::span<double> result) {
  const PenalisedRows<Matrix> rows{matrix, inverse};
  parallel_ranges(result.size(), stored_numbers(matrix), [&](Range range, std::size_t) {
    for (std::size_t i = range.begin; i < range.end; ++i) result[i] = rows.square(i);
  });
}

}  // namespace

#define MINIMAND_INSTANTIATE(Matrix)                                                           \
  template <>                                                                                  \
  DualReport ascend_rows(const Matrix& matrix, const DualPsi& psi, const DualProblem& problem, \
                         DualState state, std::int64_t epochs, double tolerance,               \
                         std::uint64_t seed) {                                                 \
    return ascend(matrix, psi, problem, state, epochs, tolerance, seed);                       \
  }                                                                                            \
  template <>                                                                                  \
  void row_squares(const Matrix& matrix, std::span<const double> inverse,                      \
                   std::span<double> result) {                                                 \
    squares(matrix, inverse, result);                                                          \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_INSTANTIATE)

}  // namespace minimand
