#include "dense/curvature.hpp"
#include "dense/gram.hpp"
#include "dense/moments.hpp"
#include "dense/products.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

Result dense_matvec(const Array& X, const Array& w) {
  return with_dense(X, [&](const auto& matrix) {
    const Vectors from = vectors(w, "w", matrix.columns());
    Fresh z(from.shape(matrix.rows()));
    without_gil([&] { minimand::dense_matvec(matrix, from.values, from.width, z.values()); });
    return z.hand_over();
  });
}

Result dense_rmatvec(const Array& X, const Array& u) {
  return with_dense(X, [&](const auto& matrix) {
    const Vectors from = vectors(u, "u", matrix.rows());
    Fresh v(from.shape(matrix.columns()));
    without_gil([&] { minimand::dense_rmatvec(matrix, from.values, from.width, v.values()); });
    return v.hand_over();
  });
}

std::pair<Result, Result> dense_curvature_product(const Array& X, const Array& v, double shift,
                                                  const Array& h) {
  return with_dense(X, [&](const auto& matrix) {
    const auto direction = vector<double>(v, "v", matrix.columns());
    const auto weights = vector<double>(h, "h", matrix.rows());
    Fresh g({matrix.columns()}), scores({matrix.rows()});
    without_gil([&] {
      minimand::dense_curvature_product(matrix, direction, shift, weights, g.values(),
                                        scores.values());
    });
    return std::pair(g.hand_over(), scores.hand_over());
  });
}

std::pair<Result, Result> dense_moments(const Array& X, const Array& h) {
  return with_dense(X, [&](const auto& matrix) {
    const auto weights = vector<double>(h, "h", matrix.rows());
    Fresh first({matrix.columns()}), second({matrix.columns()});
    without_gil([&] { minimand::dense_moments(matrix, weights, first.values(), second.values()); });
    return std::pair(first.hand_over(), second.hand_over());
  });
}

Result dense_gram(const Array& X, const Array& h) {
  return with_dense(X, [&](const auto& matrix) {
    const auto weights = vector<double>(h, "h", matrix.rows());
    Fresh gram({matrix.columns(), matrix.columns()});
    without_gil([&] { minimand::dense_gram(matrix, weights, gram.values()); });
    return gram.hand_over();
  });
}

std::pair<Result, Result> dense_covariance(const Array& X, const Array& h, const Array& centre) {
  return with_dense(X, [&](const auto& matrix) {
    const auto weights = vector<double>(h, "h", matrix.rows());
    const auto shift = vector<double>(centre, "centre", matrix.columns());
    Fresh gram({matrix.columns(), matrix.columns()}), first({matrix.columns()});
    without_gil(
        [&] { minimand::dense_covariance(matrix, weights, shift, gram.values(), first.values()); });
    return std::pair(gram.hand_over(), first.hand_over());
  });
}

}  // namespace

void bind_dense(nb::module_& m) {
  using nb::arg;
  m.def("dense_matvec", &dense_matvec, arg("X"), arg("w"), "X w; w is (d,) or (d, k).");
  m.def("dense_rmatvec", &dense_rmatvec, arg("X"), arg("u"), "X' u; u is (n,) or (n, k).");
  m.def("dense_curvature_product", &dense_curvature_product, arg("X"), arg("v"), arg("shift"),
        arg("h"), "(sum_i h_i t_i x_i, t) with t_i = x_i.v + shift.");
  m.def("dense_moments", &dense_moments, arg("X"), arg("h"), "Per column: (sum h x, sum h x^2).");
  m.def("dense_gram", &dense_gram, arg("X"), arg("h"), "X' diag(h) X.");
  m.def("dense_covariance", &dense_covariance, arg("X"), arg("h"), arg("centre"),
        "(sum_i h_i (x_i - centre)(x_i - centre)', sum_i h_i (x_i - centre)).");
}

}  // namespace minimand::python
