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
  /// Calls `look(column)` wherever `add` of this row may change w.
  template <class Look>
  void each(std::size_t row, Look look) const {
    if (starts.empty()) {
      for (std::size_t j = 0; j < columns; ++j) look(j);
      return;
    }
    const auto last = static_cast<std::size_t>(starts[row + 1]);
    for (auto e = static_cast<std::size_t>(starts[row]); e < last; ++e) {
      look(static_cast<std::size_t>(places[e]));
    }
  }
};

}  // namespace minimand
