#include "dual/batch.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/dual_psi.hpp"

namespace minimand::python {
namespace {

/// pull and shift of the rows by class, and the rows' squares.
using BatchRows = std::tuple<Array, Array, Array>;

/// reach and target by class, and whether the intercepts are free.
using BatchFacts = std::tuple<Array, Array, bool>;

/// Sweeps, and whether it is worthwhile to go on.
using BatchResult = std::pair<double, bool>;

std::size_t padded(std::size_t classes) {
  return (classes + kClassesInStep - 1) / kClassesInStep * kClassesInStep;
}

BatchProblem batch_problem(const BatchRows& rows, const Array& inverse, const BatchFacts& facts,
                           std::size_t n, std::size_t d) {
  const auto& [pull, shift, squares] = rows;
  const auto& [reach, target, intercept] = facts;
  const auto reaches = vector<double>(reach, "reach");
  const std::size_t classes = reaches.size(), width = padded(classes);
  if (classes == 0 || classes > kMostClasses) value_problem("there must be 1 to 16 classes");
  if (n >= (std::size_t{1} << 32)) value_problem("there are too many rows");
  const auto shifts = vector<double>(shift, "shift");
  if (shifts.size() != width) check_size(shifts.size(), n * width, "shift");
  const auto inverses = vector<double>(inverse, "inverse");
  if (inverses.size() != 1) check_size(inverses.size(), d, "inverse");
  return {vector<double>(pull, "pull", n * width),
          shifts,
          vector<double>(squares, "squares", n),
          inverses,
          reaches,
          vector<double>(target, "target", classes),
          intercept,
          classes,
          width};
}

std::span<std::uint8_t> bytes(const MutableArray& array, const char* name, std::size_t size) {
  if (array.dtype() != nb::dtype<std::uint8_t>() || array.ndim() != 1 || !is_c_contiguous(array)) {
    value_problem(std::string(name) + " must be a contiguous vector of uint8");
  }
  check_size(array.size(), size, name);
  return {static_cast<std::uint8_t*>(array.data()), array.size()};
}

BatchState batch_state(const MutableArray& v, const MutableArray& w, const MutableArray& clock,
                       const MutableArray& active, const BatchProblem& problem, std::size_t n,
                       std::size_t d) {
  const std::size_t width = problem.width;
  const auto times = mutable_vector(clock, "clock", 4 * width);
  const auto visited = bytes(active, "active", n * width);
  for (std::uint8_t& flag : visited) flag = flag != 0;
  return {mutable_vector(v, "v", n * width), mutable_vector(w, "w", d * width),
          times.subspan(0, width),           times.subspan(width, width),
          times.subspan(2 * width, width),   visited,
          times.subspan(3 * width, width)};
}

/// The arrays of a call, in the order of its arguments.
struct BatchArguments {
  const PsiArgument& psi;
  const BatchRows& rows;
  const Array& inverse;
  const BatchFacts& facts;
  const MutableArray& v;
  const MutableArray& w;
  const MutableArray& clock;
  const MutableArray& active;
  std::int64_t epochs;
  std::uint64_t seed;
};

template <class Matrix>
BatchResult ascend(const Matrix& matrix, std::size_t n, std::size_t d, const BatchArguments& of) {
  const BatchProblem problem = batch_problem(of.rows, of.inverse, of.facts, n, d);
  const BatchState state = batch_state(of.v, of.w, of.clock, of.active, problem, n, d);
  const DualPsi psi = dual_psi(of.psi);
  const BatchReport report =
      without_gil([&] { return ascend_batch(matrix, psi, problem, state, of.epochs, of.seed); });
  return {report.sweeps, report.worthwhile};
}

BatchResult dual_batch(const CheckedMatrix& checked, const PsiArgument& psi, const BatchRows& rows,
                       const Array& inverse, const BatchFacts& facts, const MutableArray& v,
                       const MutableArray& w, const MutableArray& clock, const MutableArray& active,
                       std::int64_t epochs, std::uint64_t seed) {
  return checked.visit([&](const auto& matrix) {
    return ascend(matrix, matrix.majors(), matrix.minors,
                  {psi, rows, inverse, facts, v, w, clock, active, epochs, seed});
  });
}

BatchResult dual_batch_dense(const Array& X, const PsiArgument& psi, const BatchRows& rows,
                             const Array& inverse, const BatchFacts& facts, const MutableArray& v,
                             const MutableArray& w, const MutableArray& clock,
                             const MutableArray& active, std::int64_t epochs, std::uint64_t seed) {
  return with_dense(X, [&](const auto& matrix) {
    if (!matrix.by_rows) value_problem("X must have contiguous rows");
    return ascend(matrix, matrix.rows(), matrix.columns(),
                  {psi, rows, inverse, facts, v, w, clock, active, epochs, seed});
  });
}

}  // namespace

void bind_dual_batch(nb::module_& m) {
  using nb::arg;
  m.def("dual_batch", &dual_batch, arg("matrix"), arg("psi"), arg("rows"), arg("inverse"),
        arg("classes"), arg("v").noconvert(), arg("w").noconvert(), arg("clock").noconvert(),
        arg("active").noconvert(), arg("epochs"), arg("seed"),
        "Dual coordinate ascent of several classes over the rows of a CSR, in place: sweeps.");
  m.def("dual_batch_dense", &dual_batch_dense, arg("X"), arg("psi"), arg("rows"), arg("inverse"),
        arg("classes"), arg("v").noconvert(), arg("w").noconvert(), arg("clock").noconvert(),
        arg("active").noconvert(), arg("epochs"), arg("seed"),
        "Dual coordinate ascent of several classes over dense rows, in place: sweeps.");
}

}  // namespace minimand::python
