#include "trees/feature_rows.hpp"

#include <algorithm>

#include "common/lanes.hpp"

namespace minimand {
namespace {

MINIMAND_CLONES double dense_dot(const double* x, const double* w, std::size_t n) {
  return dot(x, w, n);
}

MINIMAND_CLONES void dense_add(const double* x, double factor, const double* mask,
                               double* __restrict w, std::size_t n) {
  if (mask == nullptr) {
    for (std::size_t j = 0; j < n; ++j) w[j] += factor * x[j];
  } else {
    for (std::size_t j = 0; j < n; ++j) w[j] += factor * mask[j] * x[j];
  }
}

}  // namespace

double FeatureRows::dot(std::size_t row, const double* w) const {
  if (starts.empty()) return dense_dot(values.data() + row * columns, w, columns);
  double sum = 0.0;
  for (auto at = static_cast<std::size_t>(starts[row]);
       at < static_cast<std::size_t>(starts[row + 1]); ++at) {
    sum += values[at] * w[places[at]];
  }
  return sum;
}

void FeatureRows::add(std::size_t row, double factor, const double* mask, double* w) const {
  if (starts.empty()) return dense_add(values.data() + row * columns, factor, mask, w, columns);
  for (auto at = static_cast<std::size_t>(starts[row]);
       at < static_cast<std::size_t>(starts[row + 1]); ++at) {
    const auto j = static_cast<std::size_t>(places[at]);
    w[j] += factor * values[at] * (mask == nullptr ? 1.0 : mask[j]);
  }
}

}  // namespace minimand
