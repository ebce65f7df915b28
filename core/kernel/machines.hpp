#pragma once

#include "kernel/box_steps.hpp"

// Several small kernel machines on parts of one kernel matrix that is in memory.
namespace minimand {

/// One of the machines: a box problem (see `BoxProblem`) on some rows of the matrix.
struct BoxMachine {
  std::span<const std::uint32_t> rows;
  BoxProblem problem;
  BoxState state;  // a is where to begin, and the sum of each group stays; f = Ka is a result
  double goal;     // the gap to reach; or `share` of 1/2 a'Ka, if that is more
  double share;
  bool scaled;  // whether the gap is that of the best multiple of f and the levels; gains are zero
};

struct MachineReport {
  double levels[2];  // of the groups: the best for f
  double gap;        // at those levels
  std::int64_t steps;
};

/// Minimises all of them, or leaves those that need larger systems than are solved here to the
/// caller, each by one thread; the results do not depend on the number of threads.
/// f is computed anew from a at the end, so that it is exact up to rounding.
void settle_machines(const DenseMatrix<double>& matrix, std::span<const BoxMachine> machines,
                     std::span<MachineReport> reports);

}  // namespace minimand
