#pragma once

#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include "dual/rows.hpp"
#include "python/arrays.hpp"
#include "python/pieces.hpp"

namespace minimand::python {

/// A piecewise quadratic function, or the name of another one.
using PsiArgument = std::variant<PieceArrays, std::string>;

inline DualPsi dual_psi(const PsiArgument& psi) {
  if (const auto* const parts = std::get_if<PieceArrays>(&psi)) return pieces(*parts);
  if (std::get<std::string>(psi) != "softplus") value_problem("psi must be pieces or 'softplus'");
  return Softplus{};
}

}  // namespace minimand::python
