#include "dual/class_rows.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// y, cost, weights, offset (empty: none), mass and the rows' squares.
using ClassArrays = std::tuple<Array, Array, Array, Array, Array, Array>;

/// A matrix of doubles with k columns, as a span.
std::span<const double> table(const Array& array, const char* name, std::size_t rows,
                              std::size_t k) {
  const Vectors found = vectors(array, name, rows);
  check_size(found.width, k, name);
  return found.values;
}

std::span<double> mutable_table(const MutableArray& array, const char* name, std::size_t rows,
                                std::size_t k) {
  check_elements<double>(array, name);
  if (array.ndim() != 2) value_problem(std::string(name) + " must be two-dimensional");
  check_size(array.shape(0), rows, name);
  check_size(array.shape(1), k, name);
  return {static_cast<double*>(array.data()), array.size()};
}

ClassProblem class_problem(const ClassArrays& arrays, const Array& inverse,
                           std::pair<bool, double> intercept, std::size_t n, std::size_t d,
                           std::size_t k) {
  const auto& [y, cost, weights, offset, mass, squares] = arrays;
  const auto inverses = vector<double>(inverse, "inverse");
  if (inverses.size() != 1) check_size(inverses.size(), d, "inverse");
  if (n >= (std::size_t{1} << 32)) value_problem("there are too many rows");
  const auto labels = places(y, "y", k);
  check_size(labels.size(), n, "y");
  const std::span<const double> none;
  return {labels,
          table(cost, "cost", k, k),
          vector<double>(weights, "weights", k - 1),
          offset.size() == 0 ? none : table(offset, "offset", n, k),
          vector<double>(mass, "mass", n),
          vector<double>(squares, "squares", n),
          inverses,
          intercept.first,
          intercept.second};
}

/// The step of the intercepts, the number of active rows and the threshold, as a run leaves them.
using Clock = std::tuple<double, std::int64_t, double>;

/// That, sweeps, and an estimate of the gap.
using ClassResult = std::tuple<Clock, double, double>;

/// u, its mean, W, b and the order of the rows.
using ClassArraysChanged =
    std::tuple<MutableArray, MutableArray, MutableArray, MutableArray, MutableArray>;

ClassState class_state(const ClassArraysChanged& changed, const Clock& clock, std::size_t n,
                       std::size_t d, std::size_t k) {
  const auto& [u, mean, w, b, order] = changed;
  const auto [bias, active, threshold] = clock;
  const auto rows = row_numbers(order, "order", n);
  if (rows.size() > n) value_problem("order must hold at most one number per row");
  if (active < 0 || active > static_cast<std::int64_t>(rows.size())) {
    value_problem("active must not exceed the length of order");
  }
  return {mutable_table(u, "u", n, k),
          mutable_table(mean, "mean", n, k),
          mutable_table(w, "w", d, k),
          mutable_vector(b, "b", k),
          rows,
          bias,
          active,
          threshold};
}

template <class Rows>
ClassResult class_rows(const Rows& lines, const ClassArrays& arrays, const Array& inverse,
                       std::pair<bool, double> intercept, const ClassArraysChanged& changed,
                       const Clock& clock, std::int64_t epochs, double tolerance,
                       std::uint64_t seed) {
  return with_rows(lines, [&](const auto& matrix, std::size_t n, std::size_t d) -> ClassResult {
    const std::size_t k = std::get<3>(changed).size();
    if (k < 2) value_problem("b must have a number for each of two or more classes");
    const ClassProblem problem = class_problem(arrays, inverse, intercept, n, d, k);
    const ClassState state = class_state(changed, clock, n, d, k);
    const ClassReport report = without_gil(
        [&] { return ascend_classes(matrix, problem, state, epochs, tolerance, seed); });
    return {Clock(report.bias, report.active, report.threshold), report.sweeps, report.gap};
  });
}

Result project_classes(const Array& u, const Array& y, const Array& weights) {
  const Vectors given = vectors(u, "u");
  const auto ordered = vector<double>(weights, "weights", given.width - 1);
  const auto labels = places(y, "y", given.width);
  check_size(labels.size(), given.rows, "y");
  Fresh result({given.rows, given.width});
  without_gil([&] { minimand::project_classes(given.values, labels, ordered, result.values()); });
  return result.hand_over();
}

}  // namespace

void bind_class_dual(nb::module_& m) {
  using nb::arg;
  m.def("class_rows", &class_rows<CheckedMatrix>, arg("matrix"), arg("arrays"), arg("inverse"),
        arg("intercept"), arg("changed"), arg("clock"), arg("epochs"), arg("tolerance"),
        arg("seed"),
        "Dual ascent over the rows of a CSR for ordered class margins, u, W and b in place: "
        "((bias, active, threshold), sweeps, gap).");
  m.def("class_rows_dense", &class_rows<Array>, arg("X"), arg("arrays"), arg("inverse"),
        arg("intercept"), arg("changed"), arg("clock"), arg("epochs"), arg("tolerance"),
        arg("seed"),
        "Dual ascent over dense rows for ordered class margins, u, W and b in place: "
        "((bias, active, threshold), sweeps, gap).");
  m.def("project_classes", &project_classes, arg("u"), arg("y"), arg("weights"),
        "The multipliers of ordered class margins that are nearest to u, row by row.");
}

}  // namespace minimand::python
