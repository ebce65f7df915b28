#include "pairwise/values.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// A C-ordered table, to be changed in place.
template <class Scalar>
std::span<Scalar> table_of(const MutableArray& array, std::size_t rows, std::size_t columns) {
  check_elements<Scalar>(array, "table");
  if (array.ndim() != 2 || array.shape(0) != rows || array.shape(1) != columns) {
    value_problem("table must have a row for every row of x and a column for every column of z");
  }
  return {static_cast<Scalar*>(array.data()), array.size()};
}

/// The same, or a tile of one.
template <class Scalar>
Table<Scalar> tile_of(const MutableArray& array, std::size_t rows, std::size_t columns) {
  if (array.ndim() != 2 || array.shape(0) != rows || array.shape(1) != columns) {
    value_problem("table must have a row for every row square and a column for every other");
  }
  check_aligned<Scalar>(array, "table");
  const bool empty = rows == 0 || columns == 0;
  const auto apart = static_cast<std::size_t>(rows > 1 && !empty ? array.stride(0) : columns);
  if (!empty && ((columns > 1 && array.stride(1) != 1) || apart < columns)) {
    value_problem("table must have C-contiguous rows");
  }
  const std::size_t size = empty ? 0 : (rows - 1) * apart + columns;
  return {{static_cast<Scalar*>(array.data()), size}, apart};
}

/// A C-ordered matrix.
template <class Scalar>
DenseMatrix<Scalar> rows_of(const Array& array, const char* name) {
  check_elements<Scalar>(array, name);
  if (array.ndim() != 2) value_problem(std::string(name) + " must be two-dimensional");
  const std::size_t n = array.shape(0), d = array.shape(1);
  return {{static_cast<const Scalar*>(array.data()), n * d}, n, d, d, true};
}

template <class Function>
void with_type_of(const MutableArray& table, const Function& f) {
  if (holds<float>(table)) return f(float{});
  if (holds<double>(table)) return f(double{});
  type_problem("table must be float32 or float64");
}

void gaussians(const MutableArray& table, const Array& row_squares, const Array& column_squares,
               double factor) {
  const auto rows = vector<double>(row_squares, "row_squares");
  const auto columns = vector<double>(column_squares, "column_squares");
  if (!(factor <= 0.0)) value_problem("factor must not be positive");
  with_type_of(table, [&](auto type) {
    const auto values = tile_of<decltype(type)>(table, rows.size(), columns.size());
    without_gil([&] { minimand::gaussians(values, rows, columns, factor); });
  });
}

void powers(const MutableArray& table, double c, unsigned degree) {
  if (table.ndim() != 2) value_problem("table must be two-dimensional");
  if (degree < 1) value_problem("degree must be at least one");
  const std::size_t rows = table.shape(0), columns = table.shape(1);
  with_type_of(table, [&](auto type) {
    const auto values = tile_of<decltype(type)>(table, rows, columns);
    without_gil([&] { minimand::powers(values, rows, columns, c, degree); });
  });
}

void mirror_upper(const MutableArray& square) {
  if (square.ndim() != 2 || square.shape(0) != square.shape(1)) {
    value_problem("square must have as many rows as columns");
  }
  with_type_of(square, [&](auto type) {
    const auto values = table_of<decltype(type)>(square, square.shape(0), square.shape(1));
    without_gil([&] { minimand::mirror_in_parallel(values, square.shape(0)); });
  });
}

/// Calls f with both matrices and the table, all of the type of the table.
template <class Function>
void with_rows(const Array& x, const Array& z, const MutableArray& table, const Function& f) {
  with_type_of(table, [&](auto type) {
    using Scalar = decltype(type);
    const auto left = rows_of<Scalar>(x, "x"), right = rows_of<Scalar>(z, "z");
    if (left.length != right.lines) value_problem("z must have a row for every column of x");
    const auto values = table_of<Scalar>(table, left.lines, right.length);
    without_gil([&] { f(left, right, values); });
  });
}

void gaussians_of_differences(const Array& x, const Array& z, double factor,
                              const MutableArray& table) {
  with_rows(x, z, table, [&](const auto& left, const auto& right, auto values) {
    minimand::gaussians_of_differences(left, right, factor, values);
  });
}

void laplacians(const Array& x, const Array& z, double factor, const MutableArray& table) {
  with_rows(x, z, table, [&](const auto& left, const auto& right, auto values) {
    minimand::laplacians(left, right, factor, values);
  });
}

void sums_of_differences(bool squared, const Array& x, const Array& z, const MutableArray& table) {
  with_rows(x, z, table, [&](const auto& left, const auto& right, auto values) {
    minimand::sums_of_differences(left, right, squared, values);
  });
}

void sums_of_minima(const Array& x, const Array& z, const MutableArray& table) {
  with_rows(x, z, table, [&](const auto& left, const auto& right, auto values) {
    minimand::sums_of_minima(left, right, values);
  });
}

}  // namespace

void bind_pairwise(nb::module_& m) {
  using nb::arg;
  m.def("gaussians", &gaussians, arg("table").noconvert(), arg("row_squares"),
        arg("column_squares"), arg("factor"),
        "Replaces inner products of rows by exp(factor times their squared distance), in place.");
  m.def("powers", &powers, arg("table").noconvert(), arg("c"), arg("degree"),
        "Replaces values v by (c + v) to a power, in place.");
  m.def("mirror_upper", &mirror_upper, arg("square").noconvert(),
        "Copies the upper triangle of a matrix onto its lower one.");
  m.def("gaussians_of_differences", &gaussians_of_differences, arg("x"), arg("z"), arg("factor"),
        arg("table").noconvert(),
        "exp(factor times the squared distance) of all rows of x and columns of z.");
  m.def("laplacians", &laplacians, arg("x"), arg("z"), arg("factor"), arg("table").noconvert(),
        "exp(factor times the sum of absolute differences) of all rows of x and columns of z.");
  m.def("sums_of_differences", &sums_of_differences, arg("squared"), arg("x"), arg("z"),
        arg("table").noconvert(),
        "The sums of the absolute or squared differences of all rows of x and columns of z.");
  m.def("sums_of_minima", &sums_of_minima, arg("x"), arg("z"), arg("table").noconvert(),
        "The sums of the lesser entries of all rows of x and columns of z.");
}

}  // namespace minimand::python
