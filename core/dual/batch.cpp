#include "dual/batch.hpp"

#include "common/parallel.hpp"
#include "dual/batch_ascent.hpp"

namespace minimand {
namespace {

#define MINIMAND_KERNEL_OF(Matrix, Psi)                                                      \
  MINIMAND_CLONES void sweep_kernel(BatchAscent<Matrix, Psi>& ascent,                        \
                                    std::span<const std::uint32_t> order, BatchSums& sums) { \
    ascent.sweep(order, sums);                                                               \
  }
#define MINIMAND_KERNEL(Matrix)      \
  MINIMAND_KERNEL_OF(Matrix, Pieces) \
  MINIMAND_KERNEL_OF(Matrix, Softplus)
MINIMAND_FOR_EACH_ROWS(MINIMAND_KERNEL)

template <class Matrix>
BatchReport ascend(const Matrix& matrix, const DualPsi& psi, const BatchProblem& problem,
                   const BatchState& state, std::int64_t epochs, std::uint64_t seed) {
  return std::visit(
      [&]<class Psi>(const Psi& function) {
        BatchAscent<Matrix, Psi> ascent{matrix, function, problem, state};
        return ascent.run(epochs, stored_numbers(matrix), Shuffler::of(seed),
                          [](auto& of, std::span<const std::uint32_t> order, BatchSums& sums) {
                            sweep_kernel(of, order, sums);
                          });
      },
      psi);
}

}  // namespace

#define MINIMAND_INSTANTIATE(Matrix)                                                              \
  template <>                                                                                     \
  BatchReport ascend_batch(const Matrix& matrix, const DualPsi& psi, const BatchProblem& problem, \
                           BatchState state, std::int64_t epochs, std::uint64_t seed) {           \
    return ascend(matrix, psi, problem, state, epochs, seed);                                     \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_INSTANTIATE)

}  // namespace minimand
