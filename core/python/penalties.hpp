#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <optional>
#include <utility>

#include "descent/sweeps.hpp"
#include "python/arrays.hpp"

namespace minimand::python {

/// The bounds of the coefficients, lo and hi; absent where there are none.
using Bounds = std::optional<std::pair<Array, Array>>;

inline Penalties penalties(const Array& l1, const Array& l2, const Bounds& bounds,
                           std::size_t size) {
  Penalties result{vector<double>(l1, "l1", size), vector<double>(l2, "l2", size)};
  if (bounds) {
    result.lo = vector<double>(bounds->first, "lo", size);
    result.hi = vector<double>(bounds->second, "hi", size);
  }
  return result;
}

/// A square matrix of numbers.
inline std::span<const double> square(const Array& G) {
  check_elements<double>(G, "G");
  if (G.ndim() != 2 || G.shape(0) != G.shape(1)) value_problem("G must be a square matrix");
  return {static_cast<const double*>(G.data()), G.size()};
}

}  // namespace minimand::python
