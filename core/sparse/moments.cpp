#include "sparse/moments.hpp"

namespace minimand {

template <class Scalar, class Index>
void moments_major(const Compressed<Scalar, Index>& matrix, std::span<const double> h,
                   std::span<double> first, std::span<double> second) {
  run_parts(matrix.splits(2 * matrix.stored()), [&](Range majors, std::size_t) {
    for (std::size_t m = majors.begin; m < majors.end; ++m) {
      const auto values = matrix.values_of(m);
      const auto indices = matrix.indices_of(m);
      double sum = 0.0, sum_of_squares = 0.0;
      for (std::size_t k = 0; k < values.size(); ++k) {
        const double value = static_cast<double>(values[k]);
        const double weighted = h[indices[k]] * value;
        sum += weighted;
        sum_of_squares += weighted * value;
      }
      first[m] = sum;
      second[m] = sum_of_squares;
    }
  });
}

template <class Scalar, class Index>
void moments_minor(const Compressed<Scalar, Index>& matrix, std::span<const double> h,
                   std::span<double> first, std::span<double> second) {
  const std::size_t work = 2 * matrix.stored();
  const auto splits = matrix.splits(work, 2 * first.size());
  // Both sums of a column are in one cache line, so that a visit costs one memory access.
  std::vector<double> pairs(2 * first.size());
  PrivateSums sums(pairs, splits.size() - 1);
  run_parts(splits, [&](Range majors, std::size_t part) {
    const std::span<double> own = sums.of(part);
    for (std::size_t m = majors.begin; m < majors.end; ++m) {
      const auto values = matrix.values_of(m);
      const auto indices = matrix.indices_of(m);
      for (std::size_t k = 0; k < values.size(); ++k) {
        const double value = static_cast<double>(values[k]);
        const double weighted = h[m] * value;
        double* const pair = &own[2 * static_cast<std::size_t>(indices[k])];
        pair[0] += weighted;
        pair[1] += weighted * value;
      }
    }
  });
  sums.add_up();
  for (std::size_t j = 0; j < first.size(); ++j) {
    first[j] = pairs[2 * j];
    second[j] = pairs[2 * j + 1];
  }
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                                              \
  template void moments_major(const Compressed<Scalar, Index>&, std::span<const double>, \
                              std::span<double>, std::span<double>);                     \
  template void moments_minor(const Compressed<Scalar, Index>&, std::span<const double>, \
                              std::span<double>, std::span<double>);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)

}  // namespace minimand
