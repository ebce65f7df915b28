#include "descent/columns.hpp"
#include "descent/dense_columns.hpp"
#include "descent/gram.hpp"
#include "python/bindings.hpp"
#include "python/penalties.hpp"

namespace minimand::python {
namespace {

std::pair<std::int64_t, double> cd_gram(const Array& G, const Array& q, const MutableArray& w,
                                        const Array& l1, const Array& l2, std::int64_t max_epochs,
                                        double tol, const Bounds& bounds) {
  const std::size_t size = G.shape(0);
  const GramView gram{square(G), size, size};
  const auto linear = vector<double>(q, "q", size);
  const auto values = mutable_vector(w, "w", size);
  const Penalties weights = penalties(l1, l2, bounds, size);
  const SweepReport report =
      without_gil([&] { return descend_gram(gram, linear, values, weights, {max_epochs, tol}); });
  return {report.epochs, report.decrease};
}

using ColumnsResult = std::tuple<double, std::int64_t, double>;

ColumnsResult cd_columns(const CheckedMatrix& checked, const Array& cols, const Array& h,
                         const MutableArray& q, const MutableArray& w, const Array& l1,
                         const Array& l2, bool centre, std::int64_t max_epochs, double tol,
                         const Bounds& bounds, const std::optional<MutableArray>& moments) {
  return checked.visit([&](const auto& matrix) {
    const auto chosen = places(cols, "cols", matrix.majors());
    const auto weights = vector<double>(h, "h", matrix.minors);
    const auto linear = mutable_vector(q, "q", matrix.minors);
    const auto values = mutable_vector(w, "w", chosen.size());
    const Penalties penalty = penalties(l1, l2, bounds, chosen.size());
    std::vector<ColumnMoments> known;
    std::span<double> kept;
    if (moments) {
      kept = mutable_vector(*moments, "moments", 2 * chosen.size());
      for (std::size_t j = 0; j < chosen.size(); ++j) {
        known.push_back({kept[2 * j], kept[2 * j + 1]});
      }
    }
    const ColumnsReport report = without_gil([&] {
      return descend_columns(matrix, chosen, weights, linear, values, penalty, centre,
                             {max_epochs, tol}, known);
    });
    for (std::size_t j = 0; j < known.size(); ++j) {
      kept[2 * j] = known[j].weighted_sum;
      kept[2 * j + 1] = known[j].curvature;
    }
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
  m.def("cd_columns", &cd_columns, arg("matrix"), arg("cols"), arg("h"), arg("q").noconvert(),
        arg("w").noconvert(), arg("l1"), arg("l2"), arg("centre"), arg("max_epochs"), arg("tol"),
        arg("bounds") = nb::none(), arg("moments").noconvert() = nb::none(),
        "Coordinate descent on columns of a CSC, q and w in place: (shift, epochs, decrease). "
        "moments keeps two numbers of every column for calls with the same h; NaN at first.");
  m.def("cd_columns_dense", &cd_columns_dense, arg("X"), arg("cols"), arg("h"),
        arg("q").noconvert(), arg("w").noconvert(), arg("l1"), arg("l2"), arg("centre"),
        arg("max_epochs"), arg("tol"), arg("bounds") = nb::none(),
        "Coordinate descent on columns of a dense matrix, q and w in place: (shift, epochs, "
        "decrease).");
}

}  // namespace minimand::python
