#include "sparse/curvature.hpp"

#include "sparse/entries.hpp"

namespace minimand {

template <class Scalar, class Index>
void curvature_product(const Compressed<Scalar, Index>& rows, std::span<const double> v,
                       double shift, std::span<const double> h, std::span<double> g,
                       std::span<double> scores) {
  const std::size_t work = 2 * rows.stored();
  const auto splits = rows.splits(work, g.size());
  PrivateSums sums(g, splits.size() - 1);
  run_parts(splits, [&](Range range, std::size_t part) {
    const std::span<double> own = sums.of(part);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      const auto values = rows.values_of(i);
      const auto indices = rows.indices_of(i);
      scores[i] = sparse_dot(values, indices, v) + shift;
      const double scale = h[i] * scores[i];
      // Where the loss is flat, for example beyond a margin, many rows have no curvature.
      if (scale != 0.0) sparse_axpy(scale, values, indices, own);
    }
  });
  sums.add_up();
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                                                  \
  template void curvature_product(const Compressed<Scalar, Index>&, std::span<const double>, \
                                  double, std::span<const double>, std::span<double>,        \
                                  std::span<double>);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)

}  // namespace minimand
