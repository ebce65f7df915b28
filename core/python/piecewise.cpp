#include "scalar/piecewise.hpp"

#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/pieces.hpp"

namespace minimand::python {
namespace {

std::tuple<Result, Result, Result> terms(const PieceArrays& parts, const Array& t) {
  const Pieces psi = pieces(parts);
  const auto at = vector<double>(t, "t");
  Fresh value({at.size()}), slope({at.size()}), curvature({at.size()});
  without_gil(
      [&] { piecewise_terms(psi, at, value.values(), slope.values(), curvature.values()); });
  return {value.hand_over(), slope.hand_over(), curvature.hand_over()};
}

Result young(const PieceArrays& parts, const Array& t, const Array& v) {
  const Pieces psi = pieces(parts);
  const auto at = vector<double>(t, "t");
  const auto dual = vector<double>(v, "v", at.size());
  Fresh result({at.size()});
  without_gil([&] { piecewise_young(psi, at, dual, result.values()); });
  return result.hand_over();
}

Result prox(const PieceArrays& parts, const Array& t, const Array& step) {
  const Pieces psi = pieces(parts);
  const auto at = vector<double>(t, "t");
  const auto steps = vector<double>(step, "step", at.size());
  Fresh result({at.size()});
  without_gil([&] { piecewise_prox(psi, at, steps, result.values()); });
  return result.hand_over();
}

std::pair<double, double> shift(const PieceArrays& parts, const Array& t, const Array& sign,
                                const Array& mass) {
  const Pieces psi = pieces(parts);
  const auto at = vector<double>(t, "t");
  const auto signs = vector<double>(sign, "sign", at.size());
  const auto weights = vector<double>(mass, "mass", at.size());
  const Shifts found = without_gil([&] { return piecewise_shift(psi, at, signs, weights); });
  return {found.lowest, found.highest};
}

}  // namespace

void bind_piecewise(nb::module_& m) {
  using nb::arg;
  m.def("piecewise_terms", &terms, arg("pieces"), arg("t"),
        "(value, slope, curvature) of a piecewise quadratic function; right of a knot at it.");
  m.def("piecewise_young", &young, arg("pieces"), arg("t"), arg("v"), "psi(t) + psi*(v) - v t.");
  m.def("piecewise_prox", &prox, arg("pieces"), arg("t"), arg("step"),
        "argmin_s psi(s) + (s - t)^2/(2 step).");
  m.def("piecewise_shift", &shift, arg("pieces"), arg("t"), arg("sign"), arg("mass"),
        "The lowest and highest b that minimise sum mass psi(t + sign b).");
}

}  // namespace minimand::python
