#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "dense/gram.hpp"
#include "interior/hessian.hpp"

namespace minimand {

/// X'HX, H = diag(rates), from step to step: only rows whose rate has changed are summed anew, if
/// they are fewer than those with a rate. The curvature of a loss of pieces changes where a row
/// moves to another piece, and in late steps few rows do.
template <class Scalar>
class KeptHessian {
 public:
  KeptHessian(const DenseMatrix<Scalar>& matrix, std::span<const double> centre, bool intercept)
      : matrix_(matrix),
        centre_(centre),
        intercept_(intercept),
        known_(matrix.rows()),
        sum_(matrix.columns() * matrix.columns()),
        first_(matrix.columns()),
        largest_(matrix.columns()) {}

  std::size_t rows() const { return matrix_.rows(); }
  std::size_t columns() const { return matrix_.columns(); }

  /// Whether the sums hold the rounding of rows that were added and taken away.
  bool changed() const { return changed_; }

  /// Sums all rows at the next call.
  void forget() {
    std::fill(known_.begin(), known_.end(), 0.0);
    std::fill(sum_.begin(), sum_.end(), 0.0);
    std::fill(first_.begin(), first_.end(), 0.0);
    std::fill(largest_.begin(), largest_.end(), 0.0);
    changed_ = false;
  }

  /// The matrix for rates of sum `total`, the intercept eliminated, and the mean of X under them.
  void at(std::span<const double> rates, double total, std::span<double> gram,
          std::span<double> mean) {
    const std::size_t some = count(rates, [](double rate, double) { return rate != 0.0; });
    const std::size_t moved = count(rates, [](double rate, double old) { return rate != old; });
    if (moved > 0 && moved < some) {
      add(rates, moved, gram, mean);
      changed_ = true;
    }
    if (moved >= some || lost()) {
      forget();
      add(rates, some, gram, mean);
      lost();
    }
    std::copy(rates.begin(), rates.end(), known_.begin());
    std::copy(sum_.begin(), sum_.end(), gram.begin());
    std::fill(mean.begin(), mean.end(), 0.0);
    if (!intercept_) return;
    std::copy(first_.begin(), first_.end(), mean.begin());
    eliminate_intercept(total, centre_, gram, mean);
  }

 private:
  /// Share of a column's largest sum of squares, below which what is left of it after rows were
  /// taken away has lost digits; safeguard.
  static constexpr double kLost = 1e-4;

  /// Whether some column has lost digits since all rows were summed.
  bool lost() {
    bool found = false;
    for (std::size_t j = 0; j < largest_.size(); ++j) {
      const double square = sum_[j * (largest_.size() + 1)];
      largest_[j] = std::max(largest_[j], square);
      found = found || square < kLost * largest_[j];
    }
    return found;
  }

  template <class Counts>
  std::size_t count(std::span<const double> rates, const Counts& counts) const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) found += counts(rates[i], known_[i]);
    return found;
  }

  /// Adds the rows whose rate differs from the known one, `moved` of them.
  void add(std::span<const double> rates, std::size_t moved, std::span<double> gram,
           std::span<double> mean) {
    if (2 * moved > rates.size()) {  // a copy of most rows gains nothing
      differences_.resize(rates.size());
      for (std::size_t i = 0; i < rates.size(); ++i) differences_[i] = rates[i] - known_[i];
      accumulate(matrix_, gram, mean);
      return;
    }
    const std::size_t d = matrix_.columns();
    rows_.resize(moved * d);
    differences_.resize(moved);
    std::size_t k = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (rates[i] == known_[i]) continue;
      differences_[k] = rates[i] - known_[i];
      const Scalar* from = matrix_.values.data() + i * (matrix_.by_rows ? matrix_.stride : 1);
      const std::size_t next = matrix_.by_rows ? 1 : matrix_.stride;
      for (std::size_t j = 0; j < d; ++j) rows_[k * d + j] = from[j * next];
      ++k;
    }
    accumulate(DenseMatrix<Scalar>{rows_, moved, d, d, true}, gram, mean);
  }

  /// Adds sums over the rows of a matrix, weighted by `differences_`.
  void accumulate(const DenseMatrix<Scalar>& rows, std::span<double> gram, std::span<double> mean) {
    const std::span<const double> weights(differences_);
    if (intercept_) {
      dense_covariance(rows, weights, centre_, gram, mean);
      for (std::size_t j = 0; j < first_.size(); ++j) first_[j] += mean[j];
    } else {
      dense_gram(rows, weights, gram);
    }
    for (std::size_t j = 0; j < sum_.size(); ++j) sum_[j] += gram[j];
  }

  DenseMatrix<Scalar> matrix_;
  std::span<const double> centre_;
  bool intercept_, changed_ = false;
  std::vector<double> known_, sum_, first_, largest_, differences_;
  std::vector<Scalar> rows_;
};

}  // namespace minimand
