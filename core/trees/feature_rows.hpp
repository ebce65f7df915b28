#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace minimand {

/// Feature vectors of nodes or of edges: rows of a dense matrix, or of a compressed one.
struct FeatureRows {
  std::size_t columns = 0;
  std::span<const double> values;  // dense: rows one after the other
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> places;  // empty starts: dense

  double dot(std::size_t row, const double* w) const;
  /// w += factor * row, entry by entry times `mask` unless that is null.
  void add(std::size_t row, double factor, const double* mask, double* w) const;
  /// Zero wherever `add` of this row may have changed w.
  void clear(std::size_t row, double* w) const;
};

}  // namespace minimand
