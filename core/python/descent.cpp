#include <nanobind/stl/optional.h>

#include <optional>

#include "common/symmetric.hpp"
#include "descent/columns.hpp"
#include "descent/dense_columns.hpp"
#include "descent/gram.hpp"
#include "descent/gram_path.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// The bounds of the coefficients, lo and hi; absent where there are none.
using Bounds = std::optional<std::pair<Array, Array>>;

Penalties penalties(const Array& l1, const Array& l2, const Bounds& bounds, std::size_t size) {
  Penalties result{vector<double>(l1, "l1", size), vector<double>(l2, "l2", size)};
  if (bounds) {
    result.lo = vector<double>(bounds->first, "lo", size);
    result.hi = vector<double>(bounds->second, "hi", size);
  }
  return result;
}

/// A square matrix of numbers.
std::span<const double> square(const Array& G) {
  check_elements<double>(G, "G");
  if (G.ndim() != 2 || G.shape(0) != G.shape(1)) value_problem("G must be a square matrix");
  return {static_cast<const double*>(G.data()), G.size()};
}

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

std::pair<std::int64_t, double> cd_gram(const Array& G, const Array& q, const MutableArray& w,
                                        const Array& l1, const Array& l2, std::int64_t max_epochs,
                                        double tol, const Bounds& bounds) {
  const auto gram = square(G);
  const std::size_t size = G.shape(0);
  const auto linear = vector<double>(q, "q", size);
  const auto values = mutable_vector(w, "w", size);
  const Penalties weights = penalties(l1, l2, bounds, size);
  const SweepReport report =
      without_gil([&] { return descend_gram(gram, linear, values, weights, {max_epochs, tol}); });
  return {report.epochs, report.decrease};
}

Result block_product(const Array& G, const Array& rows, const Array& columns, const Array& v) {
  const auto gram = square(G);
  const std::size_t size = G.shape(0);
  const auto left = places(rows, "rows", size), right = places(columns, "columns", size);
  const auto values = vector<double>(v, "v", right.size());
  Fresh result({left.size()});
  without_gil([&] { minimand::block_product(gram, size, left, right, values, result.values()); });
  return result.hand_over();
}

Result scaled_block(const Array& G, const Array& chosen, const Array& factors) {
  const auto gram = square(G);
  const std::size_t size = G.shape(0);
  const auto own = places(chosen, "places", size);
  const auto scales = vector<double>(factors, "factors", own.size());
  Fresh block({own.size(), own.size()});
  without_gil([&] { minimand::scaled_block(gram, size, own, scales, block.values()); });
  return block.hand_over();
}

std::size_t cd_gram_path(const Array& G, const Array& q, double square_of_target,
                         const Array& alphas, const Array& l1, const Array& l2,
                         const MutableArray& coefs, std::int64_t first, double target,
                         std::int64_t max_epochs, double products) {
  const auto gram = square(G);
  const std::size_t size = G.shape(0);
  const SquaredMean loss{gram, vector<double>(q, "q", size), square_of_target};
  const auto values = vector<double>(alphas, "alphas");
  const std::size_t count = values.size();
  const GramGrid problems{values, grid<const double>(l1, "l1", count, size),
                          grid<const double>(l2, "l2", count, size),
                          grid<double>(coefs, "coefs", count, size)};
  const std::size_t begin = minimand::python::count(first, "first");
  return without_gil(
      [&] { return descend_gram_path(loss, problems, begin, target, {max_epochs, products}); });
}

std::tuple<double, double, double> gap_of_squares(double square, const Array& slope, const Array& w,
                                                  const Array& l1, const Array& l2) {
  const auto slopes = vector<double>(slope, "slope");
  const std::size_t size = slopes.size();
  const auto [found, penalty] = minimand::gap_of_squares(
      square, slopes, vector<double>(w, "w", size), penalties(l1, l2, std::nullopt, size));
  return {found.gap, found.scale, penalty};
}

using ColumnsResult = std::tuple<double, std::int64_t, double>;

ColumnsResult cd_columns(const CheckedMatrix& checked, const Array& cols, const Array& h,
                         const MutableArray& q, const MutableArray& w, const Array& l1,
                         const Array& l2, bool centre, std::int64_t max_epochs, double tol,
                         const Bounds& bounds) {
  return checked.visit([&](const auto& matrix) {
    const auto chosen = places(cols, "cols", matrix.majors());
    const auto weights = vector<double>(h, "h", matrix.minors);
    const auto linear = mutable_vector(q, "q", matrix.minors);
    const auto values = mutable_vector(w, "w", chosen.size());
    const Penalties penalty = penalties(l1, l2, bounds, chosen.size());
    const ColumnsReport report = without_gil([&] {
      return descend_columns(matrix, chosen, weights, linear, values, penalty, centre,
                             {max_epochs, tol});
    });
    return ColumnsResult(report.shift, report.sweeps.epochs, report.sweeps.decrease);
  });
}

ColumnsResult cd_columns_dense(const Array& X, const Array& cols, const Array& h,
                               const MutableArray& q, const MutableArray& w, const Array& l1,
                               const Array& l2, bool centre, std::int64_t max_epochs, double tol,
                               const Bounds& bounds) {
  return with_dense(X, [&](const auto& given) {
    const auto matrix = by_columns(given);
    const auto chosen = places(cols, "cols", matrix.columns());
    const auto weights = vector<double>(h, "h", matrix.rows());
    const auto linear = mutable_vector(q, "q", matrix.rows());
    const auto values = mutable_vector(w, "w", chosen.size());
    const Penalties penalty = penalties(l1, l2, bounds, chosen.size());
    const ColumnsReport report = without_gil([&] {
      return descend_dense_columns(matrix, chosen, weights, linear, values, penalty, centre,
                                   {max_epochs, tol});
    });
    return ColumnsResult(report.shift, report.sweeps.epochs, report.sweeps.decrease);
  });
}

}  // namespace

void bind_descent(nb::module_& m) {
  using nb::arg;
  m.def("cd_gram", &cd_gram, arg("G"), arg("q"), arg("w").noconvert(), arg("l1"), arg("l2"),
        arg("max_epochs"), arg("tol"), arg("bounds") = nb::none(),
        "Minimise w'Gw/2 + q'w + sum l1|w| + sum l2 w^2/2 over w, in place: (epochs, decrease).");
  m.def("block_product", &block_product, arg("G"), arg("rows"), arg("columns"), arg("v"),
        "G[rows, columns] v of a symmetric G.");
  m.def("scaled_block", &scaled_block, arg("G"), arg("places"), arg("factors"),
        "The upper triangle of some rows and columns of a symmetric G, scaled; a unit diagonal.");
  m.def("cd_gram_path", &cd_gram_path, arg("G"), arg("q"), arg("square"), arg("alphas"), arg("l1"),
        arg("l2"), arg("coefs").noconvert(), arg("first"), arg("target"), arg("max_epochs"),
        arg("products"),
        "The same with a row of l1, l2 and coefs per alpha, in place, each to a gap: rows solved.");
  m.def("gap_of_squares", &gap_of_squares, arg("square"), arg("slope"), arg("w"), arg("l1"),
        arg("l2"),
        "(gap, scale of the residuals as dual point, penalty) of a model of the squared loss.");
  m.def("cd_columns", &cd_columns, arg("matrix"), arg("cols"), arg("h"), arg("q").noconvert(),
        arg("w").noconvert(), arg("l1"), arg("l2"), arg("centre"), arg("max_epochs"), arg("tol"),
        arg("bounds") = nb::none(),
        "Coordinate descent on columns of a CSC, q and w in place: (shift, epochs, decrease).");
  m.def("cd_columns_dense", &cd_columns_dense, arg("X"), arg("cols"), arg("h"),
        arg("q").noconvert(), arg("w").noconvert(), arg("l1"), arg("l2"), arg("centre"),
        arg("max_epochs"), arg("tol"), arg("bounds") = nb::none(),
        "Coordinate descent on columns of a dense matrix, q and w in place: (shift, epochs, "
        "decrease).");
}

}  // namespace minimand::python
