#include "kernel/machines.hpp"
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

BoxProblem box_problem(const BoxArrays& arrays, bool balanced, std::size_t n) {
  const auto& [low, high, below, above, group] = arrays;
  return {vector<double>(low, "low", n),
          vector<double>(high, "high", n),
          vector<double>(below, "below", n),
          vector<double>(above, "above", n),
          groups(group, n),
          balanced};
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
    const BoxProblem problem = box_problem(arrays, balanced, n);
    const BoxState state{mutable_vector(a, "a", n), mutable_vector(f, "f", n)};
    const BoxReport report = without_gil([&] {
      return box_steps(matrix, problem, state, goal, static_cast<std::size_t>(block), most_blocks);
    });
    return std::tuple(report.violation, report.steps, report.blocks);
  });
}

/// The part of a problem, or of a point, that belongs to some positions.
BoxProblem part_of(const BoxProblem& whole, std::size_t first, std::size_t count) {
  return {whole.low.subspan(first, count),   whole.high.subspan(first, count),
          whole.below.subspan(first, count), whole.above.subspan(first, count),
          whole.group.subspan(first, count), whole.balanced};
}

/// The machines of runs of positions, from `ends[m]` to `ends[m + 1]` each.
std::vector<BoxMachine> box_machines(std::span<const std::uint32_t> rows,
                                     std::span<const std::int64_t> ends, const BoxProblem& problem,
                                     BoxState state, const std::pair<Array, Array>& goals,
                                     bool scaled) {
  const std::size_t count = ends.empty() ? 0 : ends.size() - 1;
  const auto goal = vector<double>(goals.first, "goal", count);
  const auto share = vector<double>(goals.second, "share", count);
  std::vector<BoxMachine> found;
  found.reserve(count);
  for (std::size_t m = 0; m < count; ++m) {
    const auto first = static_cast<std::size_t>(ends[m]);
    if (ends[m + 1] < ends[m]) value_problem("ends must not decrease");
    const std::size_t size = static_cast<std::size_t>(ends[m + 1]) - first;
    found.push_back({rows.subspan(first, size), part_of(problem, first, size),
                     BoxState{state.a.subspan(first, size), state.f.subspan(first, size)}, goal[m],
                     share[m], scaled});
  }
  return found;
}

Result settle_boxes(const Array& matrix, const std::pair<Array, Array>& places_of_machines,
                    const BoxArrays& arrays, const std::pair<bool, bool>& kind,
                    const MutableArray& a, const MutableArray& f,
                    const std::pair<Array, Array>& goals) {
  check_elements<double>(matrix, "matrix");
  if (matrix.ndim() != 2 || matrix.shape(0) != matrix.shape(1)) {
    value_problem("matrix must be square");
  }
  const DenseMatrix<double> whole = dense<double>(matrix);
  const auto rows = row_numbers(places_of_machines.first, "rows", whole.lines);
  const auto ends = places(places_of_machines.second, "ends", rows.size() + 1);
  const BoxProblem problem = box_problem(arrays, kind.first, rows.size());
  const BoxState state{mutable_vector(a, "a", rows.size()), mutable_vector(f, "f", rows.size())};
  const auto machines = box_machines(rows, ends, problem, state, goals, kind.second);
  Fresh result({machines.size(), 4});
  const std::span<double> numbers = result.values();
  without_gil([&] {
    std::vector<MachineReport> reports(machines.size());
    settle_machines(whole, machines, reports);
    for (std::size_t m = 0; m < reports.size(); ++m) {
      numbers[4 * m] = reports[m].levels[0];
      numbers[4 * m + 1] = reports[m].levels[1];
      numbers[4 * m + 2] = reports[m].gap;
      numbers[4 * m + 3] = static_cast<double>(reports[m].steps);
    }
  });
  return result.hand_over();
}

}  // namespace

void bind_kernel_dual(nb::module_& module) {
  module.def("box_steps", &box_steps_on, nb::arg("rows"), nb::arg("box"), nb::arg("balanced"),
             nb::arg("a"), nb::arg("f"), nb::arg("goal"), nb::arg("block"), nb::arg("most_blocks"),
             "Moves the positions whose rows of K are given towards the optimum of the dual of a "
             "kernel machine, in place; returns the violation, the steps and the blocks.");
  module.def("settle_boxes", &settle_boxes, nb::arg("matrix"), nb::arg("places"), nb::arg("box"),
             nb::arg("kind"), nb::arg("a"), nb::arg("f"), nb::arg("goals"),
             "Minimises box problems on rows of one matrix, each to its gap: two levels, the gap "
             "and the steps of each, in a row; a and f are changed in place.");
}

}  // namespace minimand::python
