#include "interior/corner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dense/gram.hpp"
#include "dense/products.hpp"

namespace minimand {
namespace {

constexpr std::size_t kMost = 300;  // unknowns; safeguard: LAPACK is faster beyond
constexpr double kSingular = 1e-9;  // least pivot of equations in units of columns; safeguard

/// Solves in place by elimination with pivoting; false if a pivot is too small.
bool eliminate(std::vector<double>& matrix, std::vector<double>& right) {
  const std::size_t n = right.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::fabs(matrix[i * n + k]) > std::fabs(matrix[best * n + k])) best = i;
    }
    if (!(std::fabs(matrix[best * n + k]) > kSingular)) return false;
    if (best != k) {
      std::swap_ranges(&matrix[k * n], &matrix[k * n] + n, &matrix[best * n]);
      std::swap(right[k], right[best]);
    }
    const double* const row = &matrix[k * n];
    for (std::size_t i = k + 1; i < n; ++i) {
      double* const other = &matrix[i * n];
      const double factor = other[k] / row[k];
      if (factor == 0.0) continue;
      for (std::size_t j = k; j < n; ++j) other[j] -= factor * row[j];
      right[i] -= factor * right[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) right[k] -= matrix[k * n + j] * right[j];
    right[k] /= matrix[k * n + k];
  }
  return true;
}

template <class Scalar>
class Corner {
 public:
  Corner(const DenseMatrix<Scalar>& matrix, const InteriorProblem& problem, InteriorPoint& point,
         const CornerScale& scale)
      : matrix_(matrix),
        problem_(problem),
        point_(point),
        scale_(scale),
        n_(matrix.rows()),
        d_(matrix.columns()),
        size_(d_ + (problem.intercept ? 1 : 0)),
        slope_(n_),
        rates_(n_),
        slopes_(n_),
        gradient_(d_),
        bend_(size_ * size_) {}

  bool find(std::span<double> theta) {
    settle_samples();
    // More samples on knots than 3 per unknown: no corner; safeguard.
    if (basis_.size() > 3 * size_ + 20 || basis_.size() + size_ > kMost) return false;
    find_bend();
    find_left();
    scale_equations();
    if (!eliminate(system_, right_)) return false;
    for (const double each : right_) {
      if (!std::isfinite(each)) return false;
    }
    for (std::size_t j = 0; j < d_; ++j) point_.w[j] += right_[j] / unit_[j];
    if (problem_.intercept) point_.b += right_[d_] / unit_[d_];
    for (std::size_t k = 0; k < basis_.size(); ++k) {
      const std::size_t i = basis_[k];
      slope_[i] += problem_.sign[i] * right_[size_ + k] / problem_.mass[i];
    }
    for (std::size_t i = 0; i < n_; ++i) {
      theta[i] = problem_.sign[i] * std::clamp(slope_[i], scale_.lowest, scale_.highest);
    }
    return true;
  }

 private:
  /// The slopes that samples are heading for, their curvature on curved pieces, and the samples
  /// that stay on a knot, with how far t is from it.
  void settle_samples() {
    const RiserForm& form = problem_.samples;
    const std::size_t risers = form.side.size(), ended = form.height.size();
    const auto dual = point_.sample_dual, primal = point_.sample_primal;
    for (std::size_t i = 0; i < n_; ++i) {
      double slope = form.base[form.base.size() == 1 ? 0 : i], rate = 0.0;
      double knot = -std::numeric_limits<double>::infinity();
      for (std::size_t r = 0; r < risers; ++r) {
        const std::size_t e = r * n_ + i, other = risers * n_ + e;
        double v = dual[e], near = v / scale_.size, far = primal[e], height = HUGE_VAL;
        if (r < ended) {
          height = form.height[r];
          near = std::min(v, dual[other]) / height;
          far = std::max(far, primal[other]);
        }
        if (form.bend[r] > 0.0) {
          const double at = form.side[r] * (point_.t[i] - form.knot[r]) / form.bend[r];
          v = std::clamp(at, 0.0, height);
          if (at > 0.0 && at < height) rate += 1.0 / form.bend[r];
        } else if (near > far / scale_.width) {
          knot = std::max(knot, form.knot[r]);
        } else {
          v = r < ended && primal[other] > primal[e] ? height : 0.0;
        }
        slope += form.side[r] * v;
      }
      slope_[i] = slope;
      rates_[i] = problem_.mass[i] * rate;
      if (std::isfinite(knot) && problem_.mass[i] > 0.0) {
        basis_.push_back(i);
        miss_.push_back(problem_.sign[i] * (point_.t[i] - knot));
      }
    }
  }

  /// The second derivative in the coefficients and the intercept.
  void find_bend() {
    double total = 0.0;
    for (const double rate : rates_) total += rate;
    if (total > 0.0) {
      std::vector<double> gram(d_ * d_), first(d_);
      dense_gram(matrix_, std::span<const double>(rates_), std::span<double>(gram));
      dense_rmatvec(matrix_, std::span<const double>(rates_), 1, std::span<double>(first));
      for (std::size_t i = 0; i < d_; ++i) {
        std::copy_n(&gram[i * d_], d_, &bend_[i * size_]);
        if (problem_.intercept) bend_[i * size_ + d_] = bend_[d_ * size_ + i] = first[i];
      }
      if (problem_.intercept) bend_[d_ * size_ + d_] = total;
    }
    for (std::size_t j = 0; j < d_; ++j) bend_[j * (size_ + 1)] += problem_.l2[j];
  }

  /// The slopes in the coefficients and the intercept.
  void find_left() {
    double balance = problem_.pull_b;
    for (std::size_t i = 0; i < n_; ++i) {
      slopes_[i] = problem_.mass[i] * problem_.sign[i] * slope_[i];
      balance += slopes_[i];
    }
    dense_rmatvec(matrix_, std::span<const double>(slopes_), 1, std::span<double>(gradient_));
    for (std::size_t j = 0; j < d_; ++j) {
      gradient_[j] += problem_.pull[j] + problem_.l2[j] * point_.w[j];
    }
    if (problem_.intercept) gradient_.push_back(balance);
  }

  double entry(std::size_t k, std::size_t j) const {
    if (j == d_) return 1.0;
    const std::size_t i = basis_[k];
    const std::size_t place = matrix_.by_rows ? i * matrix_.stride + j : j * matrix_.stride + i;
    return static_cast<double>(matrix_.values[place]);
  }

  /// [bend, rows'; rows, 0] with columns in units of their lengths.
  void scale_equations() {
    const std::size_t count = basis_.size(), side = size_ + count;
    system_.assign(side * side, 0.0);
    right_.assign(side, 0.0);
    unit_.assign(size_, 0.0);
    for (std::size_t j = 0; j < size_; ++j) {
      double square = bend_[j * (size_ + 1)];
      for (std::size_t k = 0; k < count; ++k) square += entry(k, j) * entry(k, j);
      unit_[j] = square > 0.0 ? std::sqrt(square) : 1.0;
      right_[j] = -gradient_[j] / unit_[j];
    }
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t j = 0; j < size_; ++j) {
        system_[i * side + j] = bend_[i * size_ + j] / unit_[i] / unit_[j];
      }
      for (std::size_t k = 0; k < count; ++k) {
        const double value = entry(k, i) / unit_[i];
        system_[i * side + size_ + k] = system_[(size_ + k) * side + i] = value;
      }
    }
    for (std::size_t k = 0; k < count; ++k) right_[size_ + k] = -miss_[k];
  }

  const DenseMatrix<Scalar>& matrix_;
  const InteriorProblem& problem_;
  InteriorPoint& point_;
  const CornerScale& scale_;
  std::size_t n_, d_, size_;
  std::vector<double> slope_, rates_, slopes_, gradient_, bend_;
  std::vector<std::size_t> basis_;  // samples on a knot
  std::vector<double> miss_;
  std::vector<double> system_, right_, unit_;
};

}  // namespace

template <class Scalar>
bool find_corner(const DenseMatrix<Scalar>& matrix, const InteriorProblem& problem,
                 InteriorPoint& point, const CornerScale& scale, std::span<double> theta) {
  return Corner<Scalar>(matrix, problem, point, scale).find(theta);
}

template bool find_corner(const DenseMatrix<float>&, const InteriorProblem&, InteriorPoint&,
                          const CornerScale&, std::span<double>);
template bool find_corner(const DenseMatrix<double>&, const InteriorProblem&, InteriorPoint&,
                          const CornerScale&, std::span<double>);

}  // namespace minimand
