#include "kernel/box_steps.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// low, high, below, above and the groups.
using BoxArrays = std::tuple<Array, Array, Array, Array, Array>;

std::span<const std::uint8_t> groups(const Array& array, std::size_t n) {
  if (array.dtype() != nb::dtype<std::uint8_t>() || array.ndim() != 1 || !is_c_contiguous(array)) {
    value_problem("group must be a contiguous vector of uint8");
  }
  check_size(array.size(), n, "group");
  const std::span<const std::uint8_t> found(static_cast<const std::uint8_t*>(array.data()), n);
  for (const std::uint8_t group : found) {
    if (group > 1) value_problem("group must hold zeros and ones");
  }
  return found;
}

std::tuple<double, std::int64_t, std::int64_t> box_steps_on(
    const Array& rows, const BoxArrays& arrays, bool balanced, const MutableArray& a,
    const MutableArray& f, double goal, std::int64_t block, std::int64_t most_blocks) {
  return with_dense(rows, [&](const auto& matrix) {
    if (!matrix.by_rows) value_problem("rows must be contiguous");
    const std::size_t n = matrix.length;
    if (matrix.lines > n) value_problem("there must be at most as many rows as columns");
    if (n >= (std::size_t{1} << 32)) value_problem("there are too many columns");
    if (block < 8) value_problem("block must be at least 8");  // two ends of two groups, twice
    const auto& [low, high, below, above, group] = arrays;
    const BoxProblem problem{vector<double>(low, "low", n),
                             vector<double>(high, "high", n),
                             vector<double>(below, "below", n),
                             vector<double>(above, "above", n),
                             groups(group, n),
                             balanced};
    const BoxState state{mutable_vector(a, "a", n), mutable_vector(f, "f", n)};
    const BoxReport report = without_gil([&] {
      return box_steps(matrix, problem, state, goal, static_cast<std::size_t>(block), most_blocks);
    });
    return std::tuple(report.violation, report.steps, report.blocks);
  });
}

}  // namespace

void bind_kernel_dual(nb::module_& module) {
  module.def("box_steps", &box_steps_on, nb::arg("rows"), nb::arg("box"), nb::arg("balanced"),
             nb::arg("a"), nb::arg("f"), nb::arg("goal"), nb::arg("block"), nb::arg("most_blocks"),
             "Moves the positions whose rows of K are given towards the optimum of the dual of a "
             "kernel machine, in place; returns the violation, the steps and the blocks.");
}

}  // namespace minimand::python
