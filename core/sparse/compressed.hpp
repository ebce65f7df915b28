#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/parallel.hpp"

namespace minimand {

/// A compressed sparse matrix; the major axis is the rows of a CSR and the columns of a CSC.
template <class Scalar, class Index>
struct Compressed {
  std::span<const Index> indptr;
  std::span<const Index> indices;
  std::span<const Scalar> values;
  std::size_t minors;  // the length of the other axis

  std::size_t majors() const { return indptr.size() - 1; }
  std::size_t stored() const { return static_cast<std::size_t>(indptr.back() - indptr.front()); }

  /// Splits the major axis into parts with equal numbers of entries, for `work` operations and
  /// `copy` private sums per part (see part_count).
  std::vector<std::size_t> splits(std::size_t work, std::size_t copy = 0) const {
    return balanced_splits(indptr, part_count(majors(), work, copy));
  }

  /// The entries of one major index.
  std::span<const Index> indices_of(std::size_t major) const {
    return indices.subspan(begin_of(major), size_of(major));
  }
  std::span<const Scalar> values_of(std::size_t major) const {
    return values.subspan(begin_of(major), size_of(major));
  }
  std::size_t begin_of(std::size_t major) const { return static_cast<std::size_t>(indptr[major]); }
  std::size_t size_of(std::size_t major) const {
    return static_cast<std::size_t>(indptr[major + 1] - indptr[major]);
  }
};

}  // namespace minimand

/// Instantiates MACRO(Scalar, Index) for every storage type the library accepts.
#define MINIMAND_FOR_EACH_COMPRESSED(MACRO) \
  MACRO(float, std::int32_t)                \
  MACRO(float, std::int64_t)                \
  MACRO(double, std::int32_t)               \
  MACRO(double, std::int64_t)
