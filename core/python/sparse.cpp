#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "sparse/curvature.hpp"
#include "sparse/gram.hpp"
#include "sparse/moments.hpp"
#include "sparse/products.hpp"

namespace minimand::python {
namespace {

using Pair = std::pair<Result, Result>;

Result gather(const Array& indptr, const Array& indices, const Array& data, const Array& x) {
  return with_compressed(indptr, indices, data, [&](const auto& matrix) {
    const Vectors from = vectors(x, "x");
    Fresh y(from.shape(matrix.majors()));
    without_gil([&] { minimand::gather(matrix, from.values, from.width, y.values()); });
    return y.hand_over();
  });
}

Result gather_picked(const Array& indptr, const Array& indices, const Array& data, const Array& x,
                     const Array& majors) {
  return with_compressed(indptr, indices, data, [&](const auto& matrix) {
    const auto from = vector<double>(x, "x");
    const auto chosen = vector<std::int64_t>(majors, "majors");
    for (const std::int64_t m : chosen) {
      if (m < 0 || static_cast<std::size_t>(m) >= matrix.majors()) {
        value_problem("majors must hold major indices");
      }
    }
    Fresh y({chosen.size()});
    without_gil([&] { minimand::gather_picked(matrix, chosen, from, y.values()); });
    return y.hand_over();
  });
}

Result scatter(const Array& indptr, const Array& indices, const Array& data, const Array& x,
               std::int64_t n_minor) {
  return with_compressed(indptr, indices, data, [&](const auto& matrix) {
    const Vectors from = vectors(x, "x", matrix.majors());
    Fresh y(from.shape(count(n_minor, "n_minor")));
    without_gil([&] { minimand::scatter(matrix, from.values, from.width, y.values()); });
    return y.hand_over();
  });
}

Pair curvature_product(const Array& indptr, const Array& indices, const Array& data, const Array& v,
                       double shift, const Array& h, std::int64_t n_minor) {
  return with_compressed(indptr, indices, data, [&](const auto& matrix) {
    const std::size_t minors = count(n_minor, "n_minor");
    const auto direction = vector<double>(v, "v", minors);
    const auto weights = vector<double>(h, "h", matrix.majors());
    Fresh g({minors}), scores({matrix.majors()});
    without_gil([&] {
      minimand::curvature_product(matrix, direction, shift, weights, g.values(), scores.values());
    });
    return Pair(g.hand_over(), scores.hand_over());
  });
}

Pair moments_major(const Array& indptr, const Array& indices, const Array& data, const Array& h) {
  return with_compressed(indptr, indices, data, [&](const auto& matrix) {
    const auto weights = vector<double>(h, "h");
    Fresh first({matrix.majors()}), second({matrix.majors()});
    without_gil([&] { minimand::moments_major(matrix, weights, first.values(), second.values()); });
    return Pair(first.hand_over(), second.hand_over());
  });
}

Pair moments_minor(const Array& indptr, const Array& indices, const Array& data, const Array& h,
                   std::int64_t n_minor) {
  return with_compressed(indptr, indices, data, [&](const auto& matrix) {
    const std::size_t minors = count(n_minor, "n_minor");
    const auto weights = vector<double>(h, "h", matrix.majors());
    Fresh first({minors}), second({minors});
    without_gil([&] { minimand::moments_minor(matrix, weights, first.values(), second.values()); });
    return Pair(first.hand_over(), second.hand_over());
  });
}

Result gram_minor(const Array& indptr, const Array& indices, const Array& data, const Array& h,
                  const Array& slot, std::int64_t n_slots) {
  return with_compressed(indptr, indices, data, [&](const auto& matrix) {
    const std::size_t side = count(n_slots, "n_slots");
    const auto weights = vector<double>(h, "h", matrix.majors());
    Fresh gram({side, side});
    const auto fill = [&](const auto& slots) {
      without_gil([&] { minimand::gram_minor(matrix, weights, slots, side, gram.values()); });
    };
    if (holds<std::int32_t>(slot)) {
      fill(vector<std::int32_t>(slot, "slot"));
    } else {
      fill(vector<std::int64_t>(slot, "slot"));
    }
    return gram.hand_over();
  });
}

Result gram_major(const Array& indptr, const Array& indices, const Array& data, const Array& h,
                  const Array& cols, std::int64_t n_minor) {
  return with_compressed(indptr, indices, data, [&](const auto& matrix) {
    const auto weights = vector<double>(h, "h", count(n_minor, "n_minor"));
    const auto chosen = vector<std::int64_t>(cols, "cols");
    Fresh gram({chosen.size(), chosen.size()});
    without_gil([&] { minimand::gram_major(matrix, weights, chosen, gram.values()); });
    return gram.hand_over();
  });
}

}  // namespace

void bind_sparse(nb::module_& m) {
  using nb::arg;
  m.def("gather", &gather, arg("indptr"), arg("indices"), arg("data"), arg("x"),
        "y[m] = sum_k data[k] x[indices[k]]; x is (n_minor,) or (n_minor, k).");
  m.def("gather_picked", &gather_picked, arg("indptr"), arg("indices"), arg("data"), arg("x"),
        arg("majors"), "The same of one vector, for some majors only.");
  m.def("scatter", &scatter, arg("indptr"), arg("indices"), arg("data"), arg("x"), arg("n_minor"),
        "y[indices[k]] += data[k] x[m]; x is (n_major,) or (n_major, k).");
  m.def("curvature_product", &curvature_product, arg("indptr"), arg("indices"), arg("data"),
        arg("v"), arg("shift"), arg("h"), arg("n_minor"),
        "(sum_i h_i t_i x_i, t) with t_i = x_i.v + shift over the rows of a CSR.");
  m.def("moments_major", &moments_major, arg("indptr"), arg("indices"), arg("data"), arg("h"),
        "Per major index: (sum h x, sum h x^2), h indexed by the minor axis.");
  m.def("moments_minor", &moments_minor, arg("indptr"), arg("indices"), arg("data"), arg("h"),
        arg("n_minor"), "Per minor index: (sum h x, sum h x^2), h indexed by the major axis.");
  m.def("gram_minor", &gram_minor, arg("indptr"), arg("indices"), arg("data"), arg("h"),
        arg("slot"), arg("n_slots"),
        "Weighted Gram matrix of the minor vectors with slot >= 0, at those positions.");
  m.def("gram_major", &gram_major, arg("indptr"), arg("indices"), arg("data"), arg("h"),
        arg("cols"), arg("n_minor"), "Weighted Gram matrix of the major vectors in cols.");
}

}  // namespace minimand::python
