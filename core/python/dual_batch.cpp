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

template <class Rows>
BatchResult dual_batch(const Rows& lines, const PsiArgument& psi, const BatchRows& rows,
                       const Array& inverse, const BatchFacts& facts, const MutableArray& v,
                       const MutableArray& w, const MutableArray& clock, const MutableArray& active,
                       std::int64_t epochs, std::uint64_t seed) {
  return with_rows(lines, [&](const auto& matrix, std::size_t n, std::size_t d) -> BatchResult {
    const BatchProblem problem = batch_problem(rows, inverse, facts, n, d);
    const BatchState state = batch_state(v, w, clock, active, problem, n, d);
    const DualPsi function = dual_psi(psi);
    const BatchReport report =
        without_gil([&] { return ascend_batch(matrix, function, problem, state, epochs, seed); });
    return {report.sweeps, report.worthwhile};
  });
}

}  // namespace

void bind_dual_batch(nb::module_& m) {
  using nb::arg;
  m.def("dual_batch", &dual_batch<CheckedMatrix>, arg("matrix"), arg("psi"), arg("rows"),
        arg("inverse"), arg("classes"), arg("v").noconvert(), arg("w").noconvert(),
        arg("clock").noconvert(), arg("active").noconvert(), arg("epochs"), arg("seed"),
        "Dual coordinate ascent of several classes over the rows of a CSR, in place: sweeps.");
  m.def("dual_batch_dense", &dual_batch<Array>, arg("X"), arg("psi"), arg("rows"), arg("inverse"),
        arg("classes"), arg("v").noconvert(), arg("w").noconvert(), arg("clock").noconvert(),
        arg("active").noconvert(), arg("epochs"), arg("seed"),
        "Dual coordinate ascent of several classes over dense rows, in place: sweeps.");
}

}  // namespace minimand::python
