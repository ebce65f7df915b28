#include "dual/classes.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/dual_psi.hpp"

namespace minimand::python {
namespace {

/// pull and shift of the rows by class, and the rows' squares.
using ClassRows = std::tuple<Array, Array, Array>;

/// reach and target by class, and whether the intercepts are free.
using ClassFacts = std::tuple<Array, Array, bool>;

/// Sweeps, and whether it is worthwhile to go on.
using ClassResult = std::pair<double, bool>;

std::size_t padded(std::size_t classes) {
  return (classes + kClassesInStep - 1) / kClassesInStep * kClassesInStep;
}

ClassProblem class_problem(const ClassRows& rows, const Array& inverse, const ClassFacts& facts,
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

ClassState class_state(const MutableArray& v, const MutableArray& w, const MutableArray& clock,
                       const MutableArray& active, const ClassProblem& problem, std::size_t n,
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

ClassResult dual_classes(const CheckedMatrix& checked, const PsiArgument& psi,
                         const ClassRows& rows, const Array& inverse, const ClassFacts& facts,
                         const MutableArray& v, const MutableArray& w, const MutableArray& clock,
                         const MutableArray& active, std::int64_t epochs, std::uint64_t seed) {
  return checked.visit([&](const auto& matrix) {
    const std::size_t n = matrix.majors(), d = matrix.minors;
    const ClassProblem problem = class_problem(rows, inverse, facts, n, d);
    const ClassState state = class_state(v, w, clock, active, problem, n, d);
    const DualPsi function = dual_psi(psi);
    const ClassReport report =
        without_gil([&] { return ascend_classes(matrix, function, problem, state, epochs, seed); });
    return ClassResult(report.sweeps, report.worthwhile);
  });
}

ClassResult dual_classes_dense(const Array& X, const PsiArgument& psi, const ClassRows& rows,
                               const Array& inverse, const ClassFacts& facts, const MutableArray& v,
                               const MutableArray& w, const MutableArray& clock,
                               const MutableArray& active, std::int64_t epochs,
                               std::uint64_t seed) {
  return with_dense(X, [&](const auto& matrix) {
    if (!matrix.by_rows) value_problem("X must have contiguous rows");
    const std::size_t n = matrix.rows(), d = matrix.columns();
    const ClassProblem problem = class_problem(rows, inverse, facts, n, d);
    const ClassState state = class_state(v, w, clock, active, problem, n, d);
    const DualPsi function = dual_psi(psi);
    const ClassReport report =
        without_gil([&] { return ascend_classes(matrix, function, problem, state, epochs, seed); });
    return ClassResult(report.sweeps, report.worthwhile);
  });
}

}  // namespace

void bind_dual_classes(nb::module_& m) {
  using nb::arg;
  m.def("dual_classes", &dual_classes, arg("matrix"), arg("psi"), arg("rows"), arg("inverse"),
        arg("classes"), arg("v").noconvert(), arg("w").noconvert(), arg("clock").noconvert(),
        arg("active").noconvert(), arg("epochs"), arg("seed"),
        "Dual coordinate ascent of several classes over the rows of a CSR, in place: sweeps.");
  m.def("dual_classes_dense", &dual_classes_dense, arg("X"), arg("psi"), arg("rows"),
        arg("inverse"), arg("classes"), arg("v").noconvert(), arg("w").noconvert(),
        arg("clock").noconvert(), arg("active").noconvert(), arg("epochs"), arg("seed"),
        "Dual coordinate ascent of several classes over dense rows, in place: sweeps.");
}

}  // namespace minimand::python
