#include "online/passes.hpp"
#include "online/shuffle.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// step, numbers, threshold, rate, ridge, lasso, share, average.
using Rule = std::tuple<std::int64_t, bool, double, double, double, double, double, std::int64_t>;

/// y, weight and order of the rows.
using RowArrays = std::tuple<Array, Array, Array>;

/// w, drift, taken and moves.
using StateArrays = std::tuple<MutableArray, MutableArray, MutableArray, MutableArray>;

/// b, its drift, time and what is owed.
using Clock = std::tuple<double, double, double, double>;

/// That, the objective and the number of moves.
using Report = std::tuple<Clock, double, std::int64_t>;

OnlineRule online_rule(const Rule& rule) {
  const auto [step, numbers, threshold, rate, ridge, lasso, share, average] = rule;
  if (step < 0 || step > 2) value_problem("step must be 0, 1 or 2");
  if (!(rate > 0.0)) value_problem("rate must be positive");
  if (average > 0 && (ridge > 0.0 || lasso > 0.0)) {
    value_problem("a penalised model cannot be averaged");
  }
  return {static_cast<Step>(step), numbers, threshold, rate, ridge, lasso, share, average};
}

OnlineRows online_rows(const RowArrays& arrays, std::size_t n) {
  const auto& [y, weight, order] = arrays;
  return {vector<double>(y, "y", n), vector<double>(weight, "weight", n),
          row_numbers(order, "order", n)};
}

OnlineState online_state(const StateArrays& arrays, const Clock& clock, const OnlineRule& rule,
                         std::size_t n, std::size_t d) {
  const auto& [w, drift, taken, moves] = arrays;
  const auto [b, b_drift, time, owed] = clock;
  return {mutable_vector(w, "w", d),
          mutable_vector(drift, "drift", rule.average > 0 ? d : 0),
          mutable_vector(taken, "taken", rule.lasso > 0.0 ? d : 0),
          mutable_vector(moves, "moves", n),
          b,
          b_drift,
          time,
          owed};
}

template <class Matrix>
Report run(const Matrix& matrix, const Rule& rule, const RowArrays& rows, const StateArrays& state,
           const Clock& clock, std::size_t n, std::size_t d) {
  const OnlineRule checked = online_rule(rule);
  const OnlineRows row_spans = online_rows(rows, n);
  const OnlineState start = online_state(state, clock, checked, n, d);
  const OnlineReport report =
      without_gil([&] { return minimand::online_pass(matrix, checked, row_spans, start); });
  return {Clock(report.b, report.b_drift, report.time, report.owed), report.objective,
          report.moves};
}

Report online_pass(const CheckedMatrix& checked, const Rule& rule, const RowArrays& rows,
                   const StateArrays& state, const Clock& clock) {
  return checked.visit([&](const auto& matrix) {
    return run(matrix, rule, rows, state, clock, matrix.majors(), matrix.minors);
  });
}

Report online_pass_dense(const Array& X, const Rule& rule, const RowArrays& rows,
                         const StateArrays& state, const Clock& clock) {
  return with_dense(X, [&](const auto& matrix) {
    if (!matrix.by_rows) value_problem("X must have contiguous rows");
    return run(matrix, rule, rows, state, clock, matrix.rows(), matrix.columns());
  });
}

void shuffle_rows(const MutableArray& order, std::uint32_t seed) {
  const auto rows = row_numbers(order, "order", std::size_t{1} << 32);
  without_gil([&] { minimand::shuffle_rows(rows, seed); });
}

}  // namespace

void bind_online(nb::module_& m) {
  using nb::arg;
  m.def("online_pass", &online_pass, arg("matrix"), arg("rule"), arg("rows"), arg("state"),
        arg("clock"),
        "One pass of a perceptron or passive-aggressive learner over compressed rows, in place.");
  m.def("online_pass_dense", &online_pass_dense, arg("X"), arg("rule"), arg("rows"), arg("state"),
        arg("clock"),
        "One pass of a perceptron or passive-aggressive learner over dense rows, in place.");
  m.def("shuffle_rows", &shuffle_rows, arg("order"), arg("seed"),
        "Permute row numbers at random, in place.");
}

}  // namespace minimand::python
