#include "clusters/online.hpp"

#include "clusters/panels.hpp"

namespace minimand {

#define MINIMAND_DECLARE(Matrix)                                                                 \
  void learn_rows(const Matrix& matrix, std::span<const double> weights, Range range,            \
                  std::span<double> centers, std::span<double> counts, std::span<double> wholes, \
                  std::span<std::int32_t> labels);
MINIMAND_FOR_EACH_ROWS(MINIMAND_DECLARE)
#undef MINIMAND_DECLARE

namespace {

MINIMAND_INLINE double square_of(const double* center, std::size_t d) {
  return dot(center, center, d);
}

template <class Matrix>
MINIMAND_INLINE void learn_all(const Matrix& matrix, std::span<const double> weights, Range range,
                               std::span<double> centers, std::span<double> counts,
                               std::span<double> wholes, std::span<std::int32_t> labels) {
  const std::size_t k = counts.size(), d = centers.size() / k;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const auto row = row_of(matrix, i);
    std::size_t nearest = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < k; ++c) {
      const double distance = direct<Dots>(row, 1.0, centers.data() + c * d, wholes.data()[c]);
      if (distance < least) {
        least = distance;
        nearest = c;
      }
    }
    labels.data()[i] = static_cast<std::int32_t>(nearest);
    const double weight = weights.empty() ? 1.0 : weights.data()[i];
    if (weight == 0.0) continue;
    counts.data()[nearest] += weight;
    const double step = weight / counts.data()[nearest];
    double* const __restrict center = centers.data() + nearest * d;
    for (std::size_t j = 0; j < d; ++j) center[j] *= 1.0 - step;
    row.add_to({center, d}, step);
    wholes.data()[nearest] = square_of(center, d);
  }
}

}  // namespace

#define MINIMAND_DEFINE(Matrix)                                                          \
  MINIMAND_CLONES void learn_rows(const Matrix& matrix, std::span<const double> weights, \
                                  Range range, std::span<double> centers,                \
                                  std::span<double> counts, std::span<double> wholes,    \
                                  std::span<std::int32_t> labels) {                      \
    learn_all(matrix, weights, range, centers, counts, wholes, labels);                  \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_DEFINE)
#undef MINIMAND_DEFINE

template <class Matrix>
void learn_online(const Matrix& matrix, std::span<const double> weights, std::span<double> centers,
                  std::span<double> counts, std::span<std::int32_t> labels) {
  const std::size_t k = counts.size(), d = centers.size() / k;
  std::vector<double> wholes(k);
  for (std::size_t c = 0; c < k; ++c) wholes[c] = square_of(centers.data() + c * d, d);
  learn_rows(matrix, weights, {0, labels.size()}, centers, counts, wholes, labels);
}

#define MINIMAND_INSTANTIATE(Matrix)                                                    \
  template void learn_online(const Matrix&, std::span<const double>, std::span<double>, \
                             std::span<double>, std::span<std::int32_t>);
MINIMAND_FOR_EACH_ROWS(MINIMAND_INSTANTIATE)

}  // namespace minimand
