#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace minimand {

/// The Cholesky factor of a small symmetric positive definite matrix, scaled to unit diagonal.
///
/// LAPACK is faster from a hundred unknowns on; below, a call of it from Python costs more than the
/// factorisation.
class SmallSystem {
 public:
  /// Factorises in place; false if the matrix is singular to working precision.
  bool factorise(std::span<double> matrix, std::size_t side);
  void solve(std::span<double> right) const;

 private:
  std::span<double> lower_;  // row by row, in the memory of the matrix
  std::size_t side_ = 0;
  std::vector<double> size_;
};

}  // namespace minimand
