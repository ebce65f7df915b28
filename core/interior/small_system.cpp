#include "interior/small_system.hpp"

#include <cmath>
#include <limits>

#include "common/lanes.hpp"

namespace minimand {
namespace {

/// Times the rounding of a pivot; safeguard against systems that are nearly singular.
constexpr double kNearlySingular = 1e4;

/// The lower triangle becomes the factor; the least squared pivot, or 0 if one is not positive.
MINIMAND_CLONES double cholesky(double* a, std::size_t side) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < side; ++j) {
    double* const row = a + j * side;
    for (std::size_t k = 0; k < j; ++k) {
      row[k] = (row[k] - dot(row, a + k * side, k)) / a[k * side + k];
    }
    const double pivot = row[j] - dot(row, row, j);
    if (!(pivot > 0.0)) return 0.0;
    least = pivot < least ? pivot : least;
    row[j] = std::sqrt(pivot);
  }
  return least;
}

}  // namespace

bool SmallSystem::factorise(std::span<double> matrix, std::size_t side) {
  lower_ = matrix;
  side_ = side;
  size_.resize(side);
  for (std::size_t i = 0; i < side; ++i) {
    const double diagonal = matrix[i * side + i];
    size_[i] = diagonal > 0.0 ? std::sqrt(diagonal) : 1.0;
  }
  for (std::size_t i = 0; i < side; ++i) {
    const bool empty = !(matrix[i * side + i] > 0.0);
    for (std::size_t j = 0; j <= i; ++j) matrix[i * side + j] /= size_[i] * size_[j];
    if (empty) matrix[i * side + i] = 1.0;
  }
  const double rounding = std::numeric_limits<double>::epsilon() * static_cast<double>(side);
  return cholesky(matrix.data(), side) > kNearlySingular * rounding;
}

void SmallSystem::solve(std::span<double> right) const {
  const double* const a = lower_.data();
  for (std::size_t i = 0; i < side_; ++i) {
    right[i] /= size_[i];
    for (std::size_t k = 0; k < i; ++k) right[i] -= a[i * side_ + k] * right[k];
    right[i] /= a[i * side_ + i];
  }
  for (std::size_t i = side_; i-- > 0;) {
    right[i] /= a[i * side_ + i];
    for (std::size_t k = 0; k < i; ++k) right[k] -= a[i * side_ + k] * right[i];
    right[i] /= size_[i];
  }
}

}  // namespace minimand
