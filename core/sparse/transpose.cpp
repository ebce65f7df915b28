#include "sparse/transpose.hpp"

namespace minimand {

template <class Scalar, class Index>
void transpose(const Compressed<Scalar, Index>& matrix, std::span<Index> indptr,
               std::span<Index> indices, std::span<Scalar> values) {
  const std::size_t minors = matrix.minors;
  const auto splits = matrix.splits(4 * matrix.stored(), 2 * minors);
  const std::size_t parts = splits.size() - 1;
  // First how many entries of every minor each part has, then where it puts the next of them.
  std::vector<Index> next(parts * minors);
  run_parts(splits, [&](Range majors, std::size_t part) {
    Index* const own = next.data() + part * minors;
    for (std::size_t m = majors.begin; m < majors.end; ++m) {
      for (const Index j : matrix.indices_of(m)) ++own[j];
    }
  });
  Index place = 0;
  for (std::size_t j = 0; j < minors; ++j) {
    indptr[j] = place;
    for (std::size_t part = 0; part < parts; ++part) {
      const Index count = next[part * minors + j];
      next[part * minors + j] = place;
      place = static_cast<Index>(place + count);
    }
  }
  indptr[minors] = place;
  run_parts(splits, [&](Range majors, std::size_t part) {
    Index* const own = next.data() + part * minors;
    for (std::size_t m = majors.begin; m < majors.end; ++m) {
      const auto from = matrix.values_of(m);
      const auto columns = matrix.indices_of(m);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const auto to = static_cast<std::size_t>(own[columns[k]]++);
        indices.data()[to] = static_cast<Index>(m);
        values.data()[to] = from[k];
      }
    }
  });
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                                                     \
  template void transpose(const Compressed<Scalar, Index>&, std::span<Index>, std::span<Index>, \
                          std::span<Scalar>);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)

}  // namespace minimand
