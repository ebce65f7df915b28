#include "path/gap.hpp"
#include "path/on_gram.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// The numbers of a matrix with a row of `columns` numbers for each of so many alphas.
template <class Element, class AnyArray>
std::span<Element> grid(const AnyArray& array, const char* name, std::size_t rows,
                        std::size_t columns) {
  check_elements<double>(array, name);
  if (array.ndim() != 2) value_problem(std::string(name) + " must be two-dimensional");
  check_size(array.shape(0), rows, name);
  check_size(array.size(), rows * columns, name);
  return {static_cast<Element*>(array.data()), array.size()};
}

std::size_t solve(PathOnGram& path, const Array& G, const Array& q, double square,
                  const Array& alphas, const Array& l1, const Array& l2, const MutableArray& coefs,
                  std::int64_t first, bool started, double target, std::int64_t rounds) {
  const auto linear = vector<double>(q, "q");
  const std::size_t size = linear.size();
  check_elements<double>(G, "G");
  if (G.ndim() != 2 || G.shape(0) != G.shape(1) || G.shape(0) < size) {
    value_problem("G must be a square matrix with a row for every number of q at least");
  }
  const std::span<const double> values(static_cast<const double*>(G.data()), G.size());
  const SquaredMean loss{{values, G.shape(0), size}, linear, square};
  const auto places = vector<double>(alphas, "alphas");
  const std::size_t rows = places.size();
  const PathGrid problems{places, grid<const double>(l1, "l1", rows, size),
                          grid<const double>(l2, "l2", rows, size),
                          grid<double>(coefs, "coefs", rows, size)};
  const std::size_t begin = count(first, "first");
  const PathGoal goal{target, count(rounds, "rounds")};
  return without_gil([&] { return path.solve(loss, problems, begin, started, goal); });
}

Result drawn_on(const Array& before, const Array& last, double ahead) {
  const auto end = vector<double>(last, "last");
  const auto begin = vector<double>(before, "before", end.size());
  Fresh next({end.size()});
  draw_on(begin, end, ahead, next.values());
  return next.hand_over();
}

std::tuple<double, double, double> gap_of_squares(double square, const Array& slope, const Array& w,
                                                  const Array& l1, const Array& l2) {
  const auto slopes = vector<double>(slope, "slope");
  const std::size_t size = slopes.size();
  const Penalties penalties{vector<double>(l1, "l1", size), vector<double>(l2, "l2", size)};
  const auto [found, penalty] =
      minimand::gap_of_squares(square, slopes, vector<double>(w, "w", size), penalties);
  return {found.gap, found.scale, penalty};
}

}  // namespace

void bind_path(nb::module_& m) {
  using nb::arg;
  nb::class_<PathOnGram>(m, "PathOnGram",
                         "Problems of a path on one Gram, which may grow; keeps a Cholesky factor.")
      .def(nb::init<>())
      .def("solve", &solve, arg("G"), arg("q"), arg("square"), arg("alphas"), arg("l1"), arg("l2"),
           arg("coefs").noconvert(), arg("first"), arg("started"), arg("target"), arg("rounds"),
           "Minimise w'Gw/2 + q'w + square/2 + sum l1|w| + sum l2 w^2/2 for a row of l1, l2 and "
           "coefs per alpha, in place, each to a gap; G may be larger than q. Rows solved.")
      .def("forget", &PathOnGram::forget, "To be called when another Gram comes next.");
  m.def("steps_ahead", &steps_ahead, arg("before"), arg("last"), arg("alpha"),
        "How often the step between two alphas leads on to a third; 0 if that is no line to draw.");
  m.def("drawn_on", &drawn_on, arg("before"), arg("last"), arg("ahead"),
        "The line through two models, so many steps ahead, zero where it would change sign.");
  m.def("gap_of_squares", &gap_of_squares, arg("square"), arg("slope"), arg("w"), arg("l1"),
        arg("l2"),
        "(gap, scale of the residuals as dual point, penalty) of a model of the squared loss.");
}

}  // namespace minimand::python
