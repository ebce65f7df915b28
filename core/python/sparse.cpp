#include <utility>

#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "sparse/curvature.hpp"
#include "sparse/gram.hpp"
#include "sparse/moments.hpp"
#include "sparse/products.hpp"
#include "sparse/row_products.hpp"
#include "sparse/transpose.hpp"

namespace minimand::python {
namespace {

using Pair = std::pair<Result, Result>;

/// The numbers of a vector of this size that is changed in place.
template <class Element>
std::span<Element> written(const MutableArray& array, const char* name, std::size_t size) {
  check_elements<Element>(array, name);
  if (array.ndim() != 1) value_problem(std::string(name) + " must be one-dimensional");
  check_size(array.size(), size, name);
  return {static_cast<Element*>(array.data()), array.size()};
}

template <class Scalar, class Index>
void turn(const Compressed<Scalar, Index>& matrix, const MutableArray& indptr,
          const MutableArray& indices, const MutableArray& data) {
  const auto starts = written<Index>(indptr, "indptr", matrix.minors + 1);
  const auto places = written<Index>(indices, "indices", matrix.stored());
  const auto values = written<Scalar>(data, "data", matrix.stored());
  without_gil([&] { transpose(matrix, starts, places, values); });
}

void transpose_into(const CheckedMatrix& checked, const MutableArray& indptr,
                    const MutableArray& indices, const MutableArray& data) {
  checked.visit([&](const auto& matrix) { turn(matrix, indptr, indices, data); });
}

template <class Scalar, class Index>
void pick(const Compressed<Scalar, Index>& matrix, const Array& slot, const MutableArray& indptr,
          const MutableArray& indices, const MutableArray& data) {
  const auto slots = vector<Index>(slot, "slot", matrix.minors);
  const auto starts = written<Index>(indptr, "indptr", matrix.majors() + 1);
  const auto places = written<Index>(indices, "indices", indices.size());
  const auto values = written<Scalar>(data, "data", indices.size());
  const bool fits = without_gil([&] { return pick_minors(matrix, slots, starts, places, values); });
  if (!fits) value_problem("indices must have room for exactly the entries that are picked");
}

void pick_minors_into(const CheckedMatrix& checked, const Array& slot, const MutableArray& indptr,
                      const MutableArray& indices, const MutableArray& data) {
  checked.visit([&](const auto& matrix) { pick(matrix, slot, indptr, indices, data); });
}

template <class Scalar, class Index>
void append(const Compressed<Scalar, Index>& matrix, double value, const MutableArray& indptr,
            const MutableArray& indices, const MutableArray& data) {
  const std::size_t size = matrix.stored() + matrix.majors();
  const auto starts = written<Index>(indptr, "indptr", matrix.majors() + 1);
  const auto places = written<Index>(indices, "indices", size);
  const auto values = written<Scalar>(data, "data", size);
  if (!std::in_range<Index>(size) || !std::in_range<Index>(matrix.minors)) {
    value_problem("the index type has no room for one entry more per major");
  }
  const auto constant = static_cast<Scalar>(value);
  without_gil([&] { append_minor(matrix, constant, starts, places, values); });
}

void append_minor_into(const CheckedMatrix& checked, double value, const MutableArray& indptr,
                       const MutableArray& indices, const MutableArray& data) {
  checked.visit([&](const auto& matrix) { append(matrix, value, indptr, indices, data); });
}

Result gather(const CheckedMatrix& checked, const Array& x) {
  return checked.visit([&](const auto& matrix) {
    const Vectors from = vectors(x, "x", matrix.minors);
    Fresh y(from.shape(matrix.majors()));
    without_gil([&] { minimand::gather(matrix, from.values, from.width, y.values()); });
    return y.hand_over();
  });
}

Result gather_picked(const CheckedMatrix& checked, const Array& x, const Array& majors) {
  return checked.visit([&](const auto& matrix) {
    const auto from = vector<double>(x, "x", matrix.minors);
    const auto chosen = places(majors, "majors", matrix.majors());
    Fresh y({chosen.size()});
    without_gil([&] { minimand::gather_picked(matrix, chosen, from, y.values()); });
    return y.hand_over();
  });
}

Result scatter_picked(const CheckedMatrix& checked, const Array& x, const Array& majors) {
  return checked.visit([&](const auto& matrix) {
    const auto chosen = places(majors, "majors", matrix.majors());
    const auto from = vector<double>(x, "x", chosen.size());
    Fresh y({matrix.minors});
    without_gil([&] { minimand::scatter_picked(matrix, chosen, from, y.values()); });
    return y.hand_over();
  });
}

Result scatter(const CheckedMatrix& checked, const Array& x) {
  return checked.visit([&](const auto& matrix) {
    const Vectors from = vectors(x, "x", matrix.majors());
    Fresh y(from.shape(matrix.minors));
    without_gil([&] { minimand::scatter(matrix, from.values, from.width, y.values()); });
    return y.hand_over();
  });
}

Pair curvature_product(const CheckedMatrix& checked, const Array& v, double shift, const Array& h) {
  return checked.visit([&](const auto& matrix) {
    const std::size_t minors = matrix.minors;
    const auto direction = vector<double>(v, "v", minors);
    const auto weights = vector<double>(h, "h", matrix.majors());
    Fresh g({minors}), scores({matrix.majors()});
    without_gil([&] {
      minimand::curvature_product(matrix, direction, shift, weights, g.values(), scores.values());
    });
    return Pair(g.hand_over(), scores.hand_over());
  });
}

void row_products(const CheckedMatrix& left, const CheckedMatrix& right_columns,
                  const MutableArray& sums) {
  left.visit([&](const auto& rows) {
    right_columns.visit([&](const auto& columns) {
      if constexpr (std::is_same_v<decltype(rows), decltype(columns)>) {
        check_size(columns.majors(), rows.minors, "right_columns");
        check_elements<double>(sums, "sums");
        if (sums.ndim() != 2 || sums.shape(0) != rows.majors() || sums.shape(1) != columns.minors) {
          value_problem("sums must have a row per row of left and a column per row of right");
        }
        const std::span<double> to(static_cast<double*>(sums.data()), sums.size());
        without_gil([&] { add_row_products(rows, columns, to); });
      } else {
        type_problem("left and right_columns must hold numbers and indices of the same types");
      }
    });
  });
}

Pair moments_major(const CheckedMatrix& checked, const Array& h) {
  return checked.visit([&](const auto& matrix) {
    const auto weights = vector<double>(h, "h", matrix.minors);
    Fresh first({matrix.majors()}), second({matrix.majors()});
    without_gil([&] { minimand::moments_major(matrix, weights, first.values(), second.values()); });
    return Pair(first.hand_over(), second.hand_over());
  });
}

Pair moments_minor(const CheckedMatrix& checked, const Array& h) {
  return checked.visit([&](const auto& matrix) {
    const std::size_t minors = matrix.minors;
    const auto weights = vector<double>(h, "h", matrix.majors());
    Fresh first({minors}), second({minors});
    without_gil([&] { minimand::moments_minor(matrix, weights, first.values(), second.values()); });
    return Pair(first.hand_over(), second.hand_over());
  });
}

Result gram_minor(const CheckedMatrix& checked, const Array& h, const Array& slot,
                  std::int64_t n_slots) {
  return checked.visit([&](const auto& matrix) {
    const std::size_t side = count(n_slots, "n_slots");
    const auto weights = vector<double>(h, "h", matrix.majors());
    Fresh gram({side, side});
    const auto fill = [&](const auto& slots) {
      check_size(slots.size(), matrix.minors, "slot");
      for (const auto place : slots) {
        if (place >= static_cast<std::int64_t>(side)) value_problem("slot must be below n_slots");
      }
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

Result gram_major(const CheckedMatrix& checked, const Array& h, const Array& cols) {
  return checked.visit([&](const auto& matrix) {
    const auto weights = vector<double>(h, "h", matrix.minors);
    const auto chosen = places(cols, "cols", matrix.majors());
    Fresh gram({chosen.size(), chosen.size()});
    without_gil([&] { minimand::gram_major(matrix, weights, chosen, gram.values()); });
    return gram.hand_over();
  });
}

}  // namespace

void bind_sparse(nb::module_& m) {
  using nb::arg;
  m.def("gather", &gather, arg("matrix"), arg("x"),
        "y[m] = sum_k data[k] x[indices[k]]; x is (n_minor,) or (n_minor, k).");
  m.def("gather_picked", &gather_picked, arg("matrix"), arg("x"), arg("majors"),
        "The same of one vector, for some majors only.");
  m.def("scatter", &scatter, arg("matrix"), arg("x"),
        "y[indices[k]] += data[k] x[m]; x is (n_major,) or (n_major, k).");
  m.def("scatter_picked", &scatter_picked, arg("matrix"), arg("x"), arg("majors"),
        "y[indices[k]] += data[k] x[m] for these majors m, of which x has a number each.");
  m.def("transpose", &transpose_into, arg("matrix"), arg("indptr").noconvert(),
        arg("indices").noconvert(), arg("data").noconvert(),
        "Write the same matrix with its other axis as the major one: a CSC for a CSR.");
  m.def("pick_minors", &pick_minors_into, arg("matrix"), arg("slot"), arg("indptr").noconvert(),
        arg("indices").noconvert(), arg("data").noconvert(),
        "Write the same matrix with the minors whose slot is not negative, at these positions.");
  m.def("append_minor", &append_minor_into, arg("matrix"), arg("value"), arg("indptr").noconvert(),
        arg("indices").noconvert(), arg("data").noconvert(),
        "Write the same matrix with one minor more, of this value in every major.");
  m.def("curvature_product", &curvature_product, arg("matrix"), arg("v"), arg("shift"), arg("h"),
        "(sum_i h_i t_i x_i, t) with t_i = x_i.v + shift over the rows of a CSR.");
  m.def("row_products", &row_products, arg("left"), arg("right_columns"), arg("sums").noconvert(),
        "Add the inner products of all pairs of rows of a CSR and of a matrix given as CSC.");
  m.def("moments_major", &moments_major, arg("matrix"), arg("h"),
        "Per major index: (sum h x, sum h x^2), h indexed by the minor axis.");
  m.def("moments_minor", &moments_minor, arg("matrix"), arg("h"),
        "Per minor index: (sum h x, sum h x^2), h indexed by the major axis.");
  m.def("gram_minor", &gram_minor, arg("matrix"), arg("h"), arg("slot"), arg("n_slots"),
        "Weighted Gram matrix of the minor vectors with slot >= 0, at those positions.");
  m.def("gram_major", &gram_major, arg("matrix"), arg("h"), arg("cols"),
        "Weighted Gram matrix of the major vectors in cols.");
}

}  // namespace minimand::python
