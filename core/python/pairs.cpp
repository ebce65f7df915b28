#include "pairs/hinges.hpp"
#include "pairs/sums.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

std::span<const std::int64_t> runs(const Array& units, std::size_t n) {
  const auto found = vector<std::int64_t>(units, "units");
  bool rises = found.size() >= 2 && found.front() == 0;
  for (std::size_t q = 0; rises && q + 1 < found.size(); ++q) rises = found[q] < found[q + 1];
  if (!rises || static_cast<std::size_t>(found.back()) != n) {
    value_problem("units must rise from 0 to the number of rows");
  }
  if (n >= (std::size_t{1} << 32)) value_problem("there are too many rows");
  return found;
}

void pair_order(const Array& z, const Array& units, const MutableArray& order) {
  const auto scores = vector<double>(z, "z");
  const auto runs_of_rows = runs(units, scores.size());
  if (order.dtype() != nb::dtype<std::uint32_t>() || order.ndim() != 1 || !is_c_contiguous(order)) {
    value_problem("order must be a contiguous vector of uint32");
  }
  check_size(order.size(), scores.size(), "order");
  const std::span<std::uint32_t> places(static_cast<std::uint32_t*>(order.data()), order.size());
  without_gil([&] { order_pairs(scores, runs_of_rows, places); });
}

/// Rows in runs, sorted: checked.
struct SortedRows {
  PairRows rows;
  std::span<const std::uint32_t> order;
};

SortedRows sorted_rows(const Array& z, const Array& level, const Array& units, const Array& order,
                       double margin) {
  const auto scores = vector<double>(z, "z");
  const std::size_t n = scores.size();
  const auto levels = vector<std::int32_t>(level, "level", n);
  for (const std::int32_t one : levels) {
    if (one < 0) value_problem("level must not be negative");
  }
  const PairRows rows{scores, levels, runs(units, n), margin};
  const auto places = row_numbers(order, "order", n);
  check_size(places.size(), n, "order");
  for (std::size_t q = 0; q + 1 < rows.units.size(); ++q) {
    for (std::int64_t a = rows.units[q]; a < rows.units[q + 1]; ++a) {
      const std::int64_t row = places[static_cast<std::size_t>(a)];
      if (row < rows.units[q] || row >= rows.units[q + 1]) value_problem("order must keep runs");
    }
  }
  return {rows, places};
}

/// Pairs above, pairs below, and sums of differences of values.
using PairSums = std::tuple<Result, Result, Result>;

PairSums pair_sums(const Array& z, const Array& level, const Array& units, const Array& order,
                   const Array& values, double margin) {
  const auto [rows, places] = sorted_rows(z, level, units, order, margin);
  const std::size_t n = rows.z.size();
  const Vectors given = vectors(values, "values", n);
  Fresh above({n}), below({n}), sums(given.shape(n));
  without_gil([&, &rows = rows, &places = places] {
    sum_pairs(rows, places, given.values, above.values(), below.values(), sums.values());
  });
  return {above.hand_over(), below.hand_over(), sums.hand_over()};
}

/// Squares, their slope, sums of hinges, their slope, and active pairs of every row.
using HingeSums = std::tuple<Result, Result, Result, Result, Result>;

HingeSums pair_hinges(double margin, const Array& z, const Array& level, const Array& units,
                      const Array& order) {
  const auto [rows, places] = sorted_rows(z, level, units, order, margin);
  const std::size_t n = rows.z.size(), u = rows.units.size() - 1;
  Fresh square({u}), slope({n}), linear({u}), balance({n}), degrees({n});
  const PairHinges found{square.values(), linear.values(), slope.values(), balance.values(),
                         degrees.values()};
  without_gil([&, &rows = rows, &places = places] { hinge_pairs(rows, places, found); });
  return {square.hand_over(), slope.hand_over(), linear.hand_over(), balance.hand_over(),
          degrees.hand_over()};
}

}  // namespace

void bind_pairs(nb::module_& m) {
  using nb::arg;
  m.def("pair_order", &pair_order, arg("z"), arg("units"), arg("order").noconvert(),
        "The rows of every run by decreasing score, written to order.");
  m.def("pair_sums", &pair_sums, arg("z"), arg("level"), arg("units"), arg("order"), arg("values"),
        arg("margin"),
        "Of every row: active pairs in which it is the higher one, those in which it is the lower "
        "one, and the sums of its values minus those of its partners.");
  m.def("pair_hinges", &pair_hinges, arg("margin"), arg("z"), arg("level"), arg("units"),
        arg("order"),
        "Half the squares of the hinges of all pairs by run, their slope by row, the hinges by "
        "run, their slope by row, all divided by the pairs of a run; and active pairs by row.");
}

}  // namespace minimand::python
