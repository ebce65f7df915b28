#include "sparse/row_products.hpp"

#include <algorithm>

#include "common/parallel.hpp"

namespace minimand {

template <class Scalar, class Index>
void add_row_products(const Compressed<Scalar, Index>& left,
                      const Compressed<Scalar, Index>& right_columns, std::span<double> result) {
  const std::size_t width = right_columns.minors;
  const std::size_t entries =
      right_columns.stored() / std::max<std::size_t>(right_columns.majors(), 1) + 1;
  run_parts(left.splits(left.stored() * entries), [&](Range range, std::size_t) {
    for (std::size_t i = range.begin; i < range.end; ++i) {
      double* const __restrict out = result.data() + i * width;
      const auto columns = left.indices_of(i);
      const auto values = left.values_of(i);
      for (std::size_t k = 0; k < columns.size(); ++k) {
        const auto column = static_cast<std::size_t>(columns[k]);
        const auto rows = right_columns.indices_of(column);
        const auto others = right_columns.values_of(column);
        const double value = values[k];
        for (std::size_t e = 0; e < rows.size(); ++e) {
          out[static_cast<std::size_t>(rows[e])] += value * static_cast<double>(others[e]);
        }
      }
    }
  });
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                        \
  template void add_row_products(const Compressed<Scalar, Index>&, \
                                 const Compressed<Scalar, Index>&, std::span<double>);
MINIMAND_INSTANTIATE(float, std::int32_t)
MINIMAND_INSTANTIATE(float, std::int64_t)
MINIMAND_INSTANTIATE(double, std::int32_t)
MINIMAND_INSTANTIATE(double, std::int64_t)
#undef MINIMAND_INSTANTIATE

}  // namespace minimand
