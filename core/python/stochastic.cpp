#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/pieces.hpp"
#include "stochastic/passes.hpp"

namespace minimand::python {
namespace {

/// The kind of the loss, its pieces, slopes given for every row, and the side of a kink.
using SlopeArrays = std::tuple<std::int64_t, PieceArrays, Array, bool>;
/// sign, shift, weight, and the rows in the order in which they come.
using RowArrays = std::tuple<Array, Array, Array, Array>;
/// eta, t0, power, tick, average_from, average_power, and whether there is an intercept.
using Options = std::tuple<double, double, double, double, double, double, bool>;

RowSlopes row_slopes(const SlopeArrays& arrays, std::size_t n) {
  const auto& [kind, parts, given, left] = arrays;
  if (kind < 0 || kind > 2) value_problem("the kind of the loss must be 0, 1 or 2");
  const auto slopes = vector<double>(given, "given");
  if (static_cast<SlopeKind>(kind) == SlopeKind::given) check_size(slopes.size(), n, "given");
  return {static_cast<SlopeKind>(kind), pieces(parts), slopes, left};
}

StochasticRows stochastic_rows(const RowArrays& arrays, std::size_t n) {
  const auto& [sign, shift, weight, order] = arrays;
  if (order.dtype() != nb::dtype<std::uint32_t>() || order.ndim() != 1 || !is_c_contiguous(order)) {
    value_problem("order must hold uint32 indices of rows");
  }
  const std::span<const std::uint32_t> rows(static_cast<const std::uint32_t*>(order.data()),
                                            order.size());
  for (const std::uint32_t row : rows) {
    if (row >= n) value_problem("order must hold indices of rows");
  }
  return {vector<double>(sign, "sign", n), vector<double>(shift, "shift", n),
          vector<double>(weight, "weight", n), rows};
}

std::span<const double> factors(const Array& array, const char* name, std::size_t d) {
  const auto result = vector<double>(array, name);
  if (result.size() != 1) check_size(result.size(), d, name);
  return result;
}

template <class Matrix>
void run_pass(const Matrix& matrix, std::size_t n, std::size_t d, bool adaptive,
              const SlopeArrays& slopes, const RowArrays& rows,
              const std::pair<Array, Array>& penalty, const Options& options,
              const MutableArray& fields, const MutableArray& memory) {
  const auto [eta, t0, power, tick, average_from, average_power, intercept] = options;
  const std::size_t width = (adaptive ? kInverse : kSeen) + 1;
  const StochasticPass pass{row_slopes(slopes, n),
                            stochastic_rows(rows, n),
                            {factors(penalty.first, "l1", d), factors(penalty.second, "l2", d)},
                            {eta, t0, power, tick, average_from, average_power, intercept},
                            {mutable_vector(memory, "memory", StochasticMemory::kSize)},
                            mutable_vector(fields, "fields", width * d),
                            d};
  if (!adaptive && pass.penalty.l2.size() != 1) value_problem("l2 must be one number");
  without_gil([&] { adaptive ? adaptive_pass(matrix, pass) : plain_pass(matrix, pass); });
}

void stochastic_sparse(const Array& indptr, const Array& indices, const Array& data,
                       std::int64_t columns, bool adaptive, const SlopeArrays& slopes,
                       const RowArrays& rows, const std::pair<Array, Array>& penalty,
                       const Options& options, const MutableArray& fields,
                       const MutableArray& memory) {
  with_compressed(indptr, indices, data, [&](const auto& matrix) {
    run_pass(matrix, matrix.majors(), count(columns, "columns"), adaptive, slopes, rows, penalty,
             options, fields, memory);
  });
}

void stochastic_dense(const Array& X, bool adaptive, const SlopeArrays& slopes,
                      const RowArrays& rows, const std::pair<Array, Array>& penalty,
                      const Options& options, const MutableArray& fields,
                      const MutableArray& memory) {
  with_dense(X, [&](const auto& matrix) {
    if (!matrix.by_rows) value_problem("X must have contiguous rows");
    run_pass(matrix, matrix.rows(), matrix.columns(), adaptive, slopes, rows, penalty, options,
             fields, memory);
  });
}

}  // namespace

void bind_stochastic(nb::module_& m) {
  using nb::arg;
  m.def("stochastic_sparse", &stochastic_sparse, arg("indptr"), arg("indices"), arg("data"),
        arg("columns"), arg("adaptive"), arg("slopes"), arg("rows"), arg("penalty"), arg("options"),
        arg("fields").noconvert(), arg("memory").noconvert(),
        "Stochastic steps over the rows of a CSR, one at a time, fields and memory in place.");
  m.def("stochastic_dense", &stochastic_dense, arg("X"), arg("adaptive"), arg("slopes"),
        arg("rows"), arg("penalty"), arg("options"), arg("fields").noconvert(),
        arg("memory").noconvert(),
        "Stochastic steps over dense rows, one at a time, fields and memory in place.");
}

}  // namespace minimand::python
