#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "dual/rows.hpp"
#include "python/arrays.hpp"
#include "python/pieces.hpp"

namespace minimand::python {

/// A piecewise quadratic function, or the name of another one.
using PsiArgument = std::variant<PieceArrays, std::string>;

inline Softplus known_psi(const std::string& name) {
  if (name != "softplus") value_problem("psi must be pieces or 'softplus'");
  return {};
}

inline DualPsi dual_psi(const PsiArgument& psi) {
  if (const auto* const parts = std::get_if<PieceArrays>(&psi)) return pieces(*parts);
  return known_psi(std::get<std::string>(psi));
}

}  // namespace minimand::python
