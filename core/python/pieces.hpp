#pragma once

#include "python/arrays.hpp"
#include "scalar/pieces.hpp"

namespace minimand::python {

/// knots, slopes, curvatures, slopes left of the knots, values at the knots.
using PieceArrays = std::tuple<Array, Array, Array, Array, Array>;

inline Pieces pieces(const PieceArrays& parts) {
  const auto& [knots, slopes, curvatures, left, values] = parts;
  const auto places = vector<double>(knots, "knots");
  const std::size_t count = places.size();
  if (count == 0) value_problem("knots must not be empty");
  return {places, vector<double>(slopes, "slopes", count + 1),
          vector<double>(curvatures, "curvatures", count + 1), vector<double>(left, "left", count),
          vector<double>(values, "values", count)};
}

}  // namespace minimand::python
