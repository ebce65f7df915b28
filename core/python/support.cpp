#include "python/bindings.hpp"
#include "python/penalties.hpp"
#include "support/minimiser.hpp"
#include "support/newton.hpp"

namespace minimand::python {
namespace {

bool step(SupportNewton& newton, const Array& G, const Array& q, const MutableArray& w,
          const Array& l1, const Array& l2, const Bounds& bounds) {
  const auto matrix = square(G);
  const std::size_t size = G.shape(0);
  const GramView gram{matrix, size, size};
  const auto linear = vector<double>(q, "q", size);
  const auto values = mutable_vector(w, "w", size);
  const Penalties weights = penalties(l1, l2, bounds, size);
  return without_gil([&] {
    std::vector<double> gradient(size);
    gradient_at(gram, linear, values, gradient);
    return newton.step(gram, weights, values, gradient) && newton.size() > 0;
  });
}

void minimise_gram(const Array& G, const Array& q, const MutableArray& w, const Array& l1,
                   const Array& l2, double tol, const Bounds& bounds,
                   const std::optional<std::pair<Array, double>>& beside) {
  const std::size_t size = G.shape(0);
  GramView gram{square(G), size, size};
  if (beside) {
    gram.line = vector<double>(beside->first, "line", size);
    gram.weight = beside->second;
  }
  const auto linear = vector<double>(q, "q", size);
  const auto values = mutable_vector(w, "w", size);
  const Penalties weights = penalties(l1, l2, bounds, size);
  without_gil([&] { minimise_on_gram(gram, linear, values, weights, tol); });
}

/// The rule of `go_along` for a step that was found elsewhere; `bend` is a Python function.
Result along_support(const Array& w, const Array& step, const Array& slope, const Array& l1,
                     const Array& l2, const Bounds& bounds, const nb::callable& bend) {
  const auto values = vector<double>(w, "w");
  const std::size_t size = values.size();
  const Support support{values, vector<double>(slope, "slope", size),
                        penalties(l1, l2, bounds, size)};
  const auto direction = vector<double>(step, "step", size);
  Fresh targets({size});
  std::vector<double> move(size);
  const auto curvature = [&](std::span<const double> moved) {
    Fresh copy({size});
    std::copy(moved.begin(), moved.end(), copy.values().begin());
    return nb::cast<double>(bend(copy.hand_over()));
  };
  if (!go_along(support, direction, targets.values(), move, curvature)) {
    std::copy(values.begin(), values.end(), targets.values().begin());
  }
  return targets.hand_over();
}

}  // namespace

void bind_support(nb::module_& m) {
  using nb::arg;
  nb::class_<SupportNewton>(m, "SupportNewton",
                            "Newton steps on the support on one Gram; keeps a Cholesky factor.")
      .def(nb::init<>())
      .def("step", &step, arg("G"), arg("q"), arg("w").noconvert(), arg("l1"), arg("l2"),
           arg("bounds") = nb::none(),
           "One step for w'Gw/2 + q'w + sum l1|w| + sum l2 w^2/2, w in place; whether there was "
           "one. G is the same in every call.");
  m.def("minimise_gram", &minimise_gram, arg("G"), arg("q"), arg("w").noconvert(), arg("l1"),
        arg("l2"), arg("tol"), arg("bounds") = nb::none(), arg("beside") = nb::none(),
        "Minimise w'Gw/2 + q'w + sum l1|w| + sum l2 w^2/2 over w, in place, by sweeps and Newton "
        "steps on the support, until a sweep gains no more than tol; on few columns exactly. "
        "beside = (line, weight): weight line line' is added to G, whose columns must not vanish.");
  m.def("along_support", &along_support, arg("w"), arg("step"), arg("slope"), arg("l1"), arg("l2"),
        arg("bounds"), arg("bend"),
        "Where a step on the support leads: as far as the objective falls, with coefficients that "
        "would pass zero or a bound left there. bend(move) is move'H move of the quadratic.");
}

}  // namespace minimand::python
