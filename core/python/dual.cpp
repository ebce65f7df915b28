#include "dual/rows.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/dual_psi.hpp"

namespace minimand::python {
namespace {

/// sign, shift, mass and the rows' squares.
using RowArrays = std::tuple<Array, Array, Array, Array>;

DualProblem dual_problem(const RowArrays& rows, const Array& inverse,
                         std::pair<bool, double> intercept, std::size_t n, std::size_t d) {
  const auto& [sign, shift, mass, squares] = rows;
  const auto inverses = vector<double>(inverse, "inverse");
  if (inverses.size() != 1) check_size(inverses.size(), d, "inverse");
  if (n >= (std::size_t{1} << 32)) value_problem("there are too many rows");
  return {vector<double>(sign, "sign", n),
          vector<double>(shift, "shift", n),
          vector<double>(mass, "mass", n),
          vector<double>(squares, "squares", n),
          inverses,
          intercept.first,
          intercept.second};
}

/// b, its step, the number of active rows and the threshold, as a run leaves them.
using Scalars = std::tuple<double, double, std::int64_t, double>;

/// That, sweeps, and an estimate of the gap.
using DualResult = std::tuple<Scalars, double, double>;

DualState dual_state(const MutableArray& v, const MutableArray& w, const MutableArray& order,
                     const Scalars& scalars, std::size_t n, std::size_t d) {
  const auto [b, bias, active, threshold] = scalars;
  const auto rows = row_numbers(order, "order", n);
  if (rows.size() > n) value_problem("order must hold at most one number per row");
  if (active < 0 || active > static_cast<std::int64_t>(rows.size())) {
    value_problem("active must not exceed the length of order");
  }
  return {mutable_vector(v, "v", n), mutable_vector(w, "w", d), rows, b, bias, active, threshold};
}

template <class Rows>
DualResult dual_rows(const Rows& lines, const PsiArgument& psi, const RowArrays& rows,
                     const Array& inverse, std::pair<bool, double> intercept, const MutableArray& v,
                     const MutableArray& w, const MutableArray& order, const Scalars& scalars,
                     std::int64_t epochs, double tolerance, std::uint64_t seed) {
  return with_rows(lines, [&](const auto& matrix, std::size_t n, std::size_t d) -> DualResult {
    const DualProblem problem = dual_problem(rows, inverse, intercept, n, d);
    const DualState state = dual_state(v, w, order, scalars, n, d);
    const DualPsi function = dual_psi(psi);
    const DualReport report = without_gil(
        [&] { return ascend_rows(matrix, function, problem, state, epochs, tolerance, seed); });
    return {Scalars(report.b, report.bias, report.active, report.threshold), report.sweeps,
            report.gap};
  });
}

template <class Rows>
Result row_squares(const Rows& lines, const Array& inverse) {
  return with_rows(lines, [&](const auto& matrix, std::size_t n, std::size_t d) {
    const auto inverses = vector<double>(inverse, "inverse");
    if (inverses.size() != 1) check_size(inverses.size(), d, "inverse");
    Fresh result({n});
    without_gil([&] { minimand::row_squares(matrix, inverses, result.values()); });
    return result.hand_over();
  });
}

}  // namespace

void bind_dual(nb::module_& m) {
  using nb::arg;
  m.def("dual_rows", &dual_rows<CheckedMatrix>, arg("matrix"), arg("psi"), arg("rows"),
        arg("inverse"), arg("intercept"), arg("v").noconvert(), arg("w").noconvert(),
        arg("order").noconvert(), arg("scalars"), arg("epochs"), arg("tolerance"), arg("seed"),
        "Dual coordinate ascent over the rows of a CSR, v and w in place: (b, active, threshold, "
        "sweeps, gap).");
  m.def("dual_rows_dense", &dual_rows<Array>, arg("X"), arg("psi"), arg("rows"), arg("inverse"),
        arg("intercept"), arg("v").noconvert(), arg("w").noconvert(), arg("order").noconvert(),
        arg("scalars"), arg("epochs"), arg("tolerance"), arg("seed"),
        "Dual coordinate ascent over dense rows, v and w in place: (b, active, threshold, sweeps, "
        "gap).");
  m.def("row_squares", &row_squares<CheckedMatrix>, arg("matrix"), arg("inverse"),
        "sum_j inverse_j x_ij^2 of every row of a CSR.");
  m.def("row_squares_dense", &row_squares<Array>, arg("X"), arg("inverse"),
        "sum_j inverse_j x_ij^2 of every row of a dense matrix.");
}

}  // namespace minimand::python
