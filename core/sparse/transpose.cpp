#include "sparse/transpose.hpp"

#include <algorithm>

namespace minimand {

template <class Scalar, class Index>
void transpose(const Compressed<Scalar, Index>& matrix, std::span<Index> indptr,
               std::span<Index> indices, std::span<Scalar> values) {
  const std::size_t minors = matrix.minors;
  const auto splits = matrix.splits(4 * matrix.stored(), 2 * minors);
  const std::size_t parts = splits.size() - 1;
  // For each part and minor: first the number of its entries, then the place of the next entry.
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

template <class Scalar, class Index>
bool pick_minors(const Compressed<Scalar, Index>& rows, std::span<const Index> slot,
                 std::span<Index> indptr, std::span<Index> indices, std::span<Scalar> values) {
  const auto splits = rows.splits(2 * rows.stored());
  const std::size_t parts = splits.size() - 1;
  const Index* const slots = slot.data();
  // A part begins after the entries that the parts before it keep.
  std::vector<std::size_t> starts(parts + 1);
  run_parts(splits, [&](Range range, std::size_t part) {
    if (part + 1 == parts) return;
    std::size_t kept = 0;
    for (std::size_t k = rows.begin_of(range.begin); k < rows.begin_of(range.end); ++k) {
      kept += slots[rows.indices.data()[k]] >= 0;
    }
    starts[part + 1] = kept;
  });
  for (std::size_t part = 0; part < parts; ++part) starts[part + 1] += starts[part];
  std::vector<char> fits(parts, 1);
  run_parts(splits, [&](Range range, std::size_t part) {
    std::vector<std::size_t> kept;  // of a row
    std::size_t place = starts[part];
    for (std::size_t i = range.begin; i < range.end; ++i) {
      indptr[i] = static_cast<Index>(place);
      const std::size_t size = rows.size_of(i);
      if (kept.size() < size) kept.resize(2 * size);
      std::size_t count = 0;
      for (std::size_t k = rows.begin_of(i); k < rows.begin_of(i) + size; ++k) {
        kept.data()[count] = k;  // without a branch, which could not be foretold
        count += slots[rows.indices.data()[k]] >= 0;
      }
      if (place + count > indices.size()) {
        fits[part] = 0;
        return;
      }
      for (std::size_t k = 0; k < count; ++k, ++place) {
        indices.data()[place] = slots[rows.indices.data()[kept.data()[k]]];
        values.data()[place] = rows.values.data()[kept.data()[k]];
      }
    }
    if (part + 1 == parts) starts[parts] = place;
  });
  indptr[rows.majors()] = static_cast<Index>(starts[parts]);
  const bool all_fit = std::all_of(fits.begin(), fits.end(), [](char own) { return own != 0; });
  return all_fit && starts[parts] == indices.size();
}

template <class Scalar, class Index>
void append_minor(const Compressed<Scalar, Index>& matrix, Scalar value, std::span<Index> indptr,
                  std::span<Index> indices, std::span<Scalar> values) {
  const std::size_t first = matrix.begin_of(0);
  run_parts(matrix.splits(matrix.stored()), [&](Range majors, std::size_t) {
    for (std::size_t m = majors.begin; m < majors.end; ++m) {
      const std::size_t begin = matrix.begin_of(m) - first + m, size = matrix.size_of(m);
      std::copy_n(matrix.indices.data() + matrix.begin_of(m), size, indices.data() + begin);
      std::copy_n(matrix.values.data() + matrix.begin_of(m), size, values.data() + begin);
      indices.data()[begin + size] = static_cast<Index>(matrix.minors);
      values.data()[begin + size] = value;
      indptr[m + 1] = static_cast<Index>(begin + size + 1);
    }
  });
  indptr[0] = 0;
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                                                     \
  template void transpose(const Compressed<Scalar, Index>&, std::span<Index>, std::span<Index>, \
                          std::span<Scalar>);                                                   \
  template bool pick_minors(const Compressed<Scalar, Index>&, std::span<const Index>,           \
                            std::span<Index>, std::span<Index>, std::span<Scalar>);             \
  template void append_minor(const Compressed<Scalar, Index>&, Scalar, std::span<Index>,        \
                             std::span<Index>, std::span<Scalar>);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)

}  // namespace minimand
