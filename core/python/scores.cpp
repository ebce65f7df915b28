#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "scores/dense.hpp"
#include "scores/softmax.hpp"
#include "scores/sparse.hpp"

namespace minimand::python {
namespace {

/// A C-ordered table of at least one column.
Vectors table(const Array& array, const char* name) {
  const Vectors found = vectors(array, name);
  if (found.flat || found.width == 0) {
    value_problem(std::string(name) + " must have two dimensions and at least one column");
  }
  return found;
}

Vectors table(const Array& array, const char* name, const Vectors& like) {
  const Vectors found = table(array, name);
  check_size(found.rows, like.rows, name);
  if (found.width != like.width) {
    value_problem(std::string(name) + " must have " + std::to_string(like.width) + " columns");
  }
  return found;
}

/// Class numbers of rows of scores.
std::span<const std::int64_t> classes(const Array& y, const Vectors& scores) {
  const auto found = places(y, "y", scores.width);
  check_size(found.size(), scores.rows, "y");
  return found;
}

Result softmax(const Array& z) {
  const Vectors scores = table(z, "z");
  Fresh p({scores.rows, scores.width});
  without_gil([&] {
    minimand::softmax_terms(scores.values, scores.width, {}, {.probabilities = p.values()});
  });
  return p.hand_over();
}

Result softmax_value(const Array& z, const Array& y) {
  const Vectors scores = table(z, "z");
  const auto numbers = classes(y, scores);
  Fresh value({scores.rows});
  without_gil([&] {
    minimand::softmax_terms(scores.values, scores.width, numbers, {.value = value.values()});
  });
  return value.hand_over();
}

Result softmax_gradient(const Array& z, const Array& y) {
  const Vectors scores = table(z, "z");
  const auto numbers = classes(y, scores);
  Fresh gradient({scores.rows, scores.width});
  without_gil([&] {
    minimand::softmax_terms(scores.values, scores.width, numbers, {.gradient = gradient.values()});
  });
  return gradient.hand_over();
}

std::tuple<Result, Result, Result> softmax_terms(const Array& z, const Array& y) {
  const Vectors scores = table(z, "z");
  const auto numbers = classes(y, scores);
  Fresh value({scores.rows}), gradient({scores.rows, scores.width}), p({scores.rows, scores.width});
  without_gil([&] {
    minimand::softmax_terms(scores.values, scores.width, numbers,
                            {value.values(), gradient.values(), p.values()});
  });
  return {value.hand_over(), gradient.hand_over(), p.hand_over()};
}

std::tuple<double, Result, Result, Result> softmax_sums(const Array& z, const Array& shift,
                                                        const Array& y, const Array& mass) {
  const Vectors scores = table(z, "z");
  const std::size_t k = scores.width;
  const auto numbers = classes(y, scores);
  const auto added = vector<double>(shift, "shift", k);
  const auto weights = vector<double>(mass, "mass", scores.rows);
  Fresh slope({k}), size({k}), square({k, k});
  const double value = without_gil([&] {
    const SoftmaxSums found = minimand::softmax_sums(scores.values, k, added, numbers, weights);
    std::copy(found.slope.begin(), found.slope.end(), slope.values().begin());
    std::copy(found.size.begin(), found.size.end(), size.values().begin());
    std::copy(found.square.begin(), found.square.end(), square.values().begin());
    return found.value;
  });
  return {value, slope.hand_over(), size.hand_over(), square.hand_over()};
}

Result softmax_relative_entropy(const Array& z, const Array& u, const Array& y) {
  const Vectors scores = table(z, "z");
  const Vectors moved = table(u, "u", scores);
  const auto numbers = classes(y, scores);
  Fresh result({scores.rows});
  without_gil([&] {
    softmax_relative_entropies(scores.values, scores.width, moved.values, numbers, result.values());
  });
  return result.hand_over();
}

Result simplex_times(const Array& p, const Array& scale, const Array& t) {
  const Vectors laws = table(p, "p");
  const Vectors moved = table(t, "t", laws);
  const auto weights = vector<double>(scale, "scale", laws.rows);
  Fresh result({laws.rows, laws.width});
  without_gil([&] {
    minimand::simplex_times(laws.values, laws.width, weights, moved.values, result.values());
  });
  return result.hand_over();
}

Result scale_rows(const Array& t, const Array& factors) {
  const Vectors rows = table(t, "t");
  const auto each = vector<double>(factors, "factors", rows.rows);
  Fresh result({rows.rows, rows.width});
  without_gil([&] { minimand::scale_rows(rows.values, rows.width, each, result.values()); });
  return result.hand_over();
}

/// The arguments of a product [X 1]' S [X 1] v.
struct SimplexProduct {
  Vectors v;
  Simplex curvature;
  Fresh g;

  SimplexProduct(const Array& direction, const Array& p, const Array& scale, std::size_t rows,
                 std::size_t columns)
      : v(table(direction, "v")), g({columns + 1, v.width}) {
    check_size(v.rows, columns + 1, "v");
    curvature.p = table(p, "p", Vectors{{}, rows, v.width, false}).values;
    curvature.scale = vector<double>(scale, "scale", rows);
  }
};

/// Calls f with a number of the precision to compute in: float, of a matrix of floats, or double.
template <class Scalar, class Function>
void in_precision(bool single, const Function& f) {
  if constexpr (std::is_same_v<Scalar, float>) {
    if (single) return f(0.0F);
  }
  if (single) value_problem("single precision needs a matrix of floats");
  f(0.0);
}

Result simplex_product(const CheckedMatrix& checked, const Array& v, const Array& p,
                       const Array& scale, bool single) {
  return checked.visit([&]<class Scalar, class Index>(const Compressed<Scalar, Index>& matrix) {
    SimplexProduct product(v, p, scale, matrix.majors(), matrix.minors);
    in_precision<Scalar>(single, [&](auto zero) {
      without_gil([&] {
        minimand::simplex_product<decltype(zero)>(matrix, product.v.values, product.v.width,
                                                  product.curvature, product.g.values());
      });
    });
    return product.g.hand_over();
  });
}

Result dense_simplex_product(const Array& X, const Array& v, const Array& p, const Array& scale,
                             bool single) {
  return with_dense(X, [&]<class Scalar>(const DenseMatrix<Scalar>& matrix) {
    if (!matrix.by_rows) value_problem("X must have contiguous rows");
    SimplexProduct product(v, p, scale, matrix.rows(), matrix.columns());
    in_precision<Scalar>(single, [&](auto zero) {
      without_gil([&] {
        minimand::dense_simplex_product<decltype(zero)>(matrix, product.v.values, product.v.width,
                                                        product.curvature, product.g.values());
      });
    });
    return product.g.hand_over();
  });
}

template <class Element>
std::span<Element> to_fill(const MutableArray& array, const char* name, std::size_t size) {
  check_elements<Element>(array, name);
  check_size(array.size(), size, name);
  return {static_cast<Element*>(array.data()), array.size()};
}

void count_nonzeros(const Array& X, const MutableArray& counts) {
  with_dense(X, [&](const auto& matrix) {
    const auto to = to_fill<std::int64_t>(counts, "counts", matrix.lines);
    without_gil([&] { minimand::count_nonzeros(matrix, to); });
  });
}

template <class Scalar>
void copy_lines(const DenseMatrix<Scalar>& matrix, const Array& starts,
                const MutableArray& positions, const MutableArray& values) {
  const auto from = vector<std::int32_t>(starts, "starts", matrix.lines + 1);
  const auto size = static_cast<std::size_t>(from.back());
  for (std::size_t i = 0; i < matrix.lines; ++i) {
    if (from[i] < 0 || from[i] > from[i + 1]) value_problem("starts must not fall");
  }
  const auto to = to_fill<std::int32_t>(positions, "positions", size);
  const auto copies = to_fill<Scalar>(values, "values", size);
  without_gil([&] { minimand::copy_nonzeros(matrix, from, to, copies); });
}

void copy_nonzeros(const Array& X, const Array& starts, const MutableArray& positions,
                   const MutableArray& values) {
  with_dense(X, [&](const auto& matrix) { copy_lines(matrix, starts, positions, values); });
}

}  // namespace

void bind_scores(nb::module_& m) {
  using nb::arg;
  m.def("softmax", &softmax, arg("z"), "exp(z_c) / sum_b exp(z_b) of every row.");
  m.def("softmax_value", &softmax_value, arg("z"), arg("y"), "log sum_c exp(z_c) - z_y.");
  m.def("softmax_gradient", &softmax_gradient, arg("z"), arg("y"), "softmax(z)_c - [c = y].");
  m.def("softmax_terms", &softmax_terms, arg("z"), arg("y"),
        "(value, gradient, probabilities) of log sum_c exp(z_c) - z_y.");
  m.def("softmax_sums", &softmax_sums, arg("z"), arg("shift"), arg("y"), arg("mass"),
        "Sums, weighted by mass, of (value, gradient, |gradient|, p p') at z + shift.");
  m.def("softmax_relative_entropy", &softmax_relative_entropy, arg("z"), arg("u"), arg("y"),
        "sum_c p log(p / q) of every row, p = max(u + [c = y], 0), q = softmax(z).");
  m.def("simplex_times", &simplex_times, arg("p"), arg("scale"), arg("t"),
        "scale (diag(p) - p p') t of every row.");
  m.def("scale_rows", &scale_rows, arg("t"), arg("factors"), "Every row times its factor.");
  m.def("simplex_product", &simplex_product, arg("matrix"), arg("v"), arg("p"), arg("scale"),
        arg("single") = false,
        "[X 1]' S [X 1] v over the rows of a CSR, S = scale (diag(p) - p p') of every row; in "
        "single precision from a matrix of floats, if asked for.");
  m.def("dense_simplex_product", &dense_simplex_product, arg("X"), arg("v"), arg("p"), arg("scale"),
        arg("single") = false, "The same for a dense matrix with contiguous rows.");
  m.def("count_nonzeros", &count_nonzeros, arg("X"), arg("counts").noconvert(),
        "Fills in how many numbers of every line (row of a C-ordered, column of an F-ordered "
        "matrix) are not zero.");
  m.def("copy_nonzeros", &copy_nonzeros, arg("X"), arg("starts"), arg("positions").noconvert(),
        arg("values").noconvert(), "Fills in their positions and values, line after line.");
}

}  // namespace minimand::python
