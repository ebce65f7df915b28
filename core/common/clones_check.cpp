// Compiled and linked by CMake to see whether this compiler and C library support clones: GCC with
// glibc on x86-64 does. The loader of musl does not, and clang does not inline vectors into clones.
#define MINIMAND_HAS_CLONES
#include "common/lanes.hpp"

namespace minimand {

void doubled(double* numbers);

MINIMAND_CLONES void doubled(double* numbers) {
  store_lanes(numbers, load_lanes(numbers) + load_lanes(numbers));
}

}  // namespace minimand

int main() {
  double numbers[minimand::kLanes] = {};
  minimand::doubled(numbers);
  return numbers[0] != 0.0;
}
