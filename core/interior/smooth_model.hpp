#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "dense/matrix.hpp"
#include "dense/products.hpp"
#include "interior/line_rule.hpp"
#include "interior/smooth_steps.hpp"
#include "interior/smooth_terms.hpp"

namespace minimand {

/// A model (w, b) of a `SmoothProblem` with its scores, and the objective along a step from it.
template <class Scalar, class Psi>
class SmoothModel {
 public:
  /// The objective at some length of the step, and the derivatives in the length of all but l1.
  struct Along {
    double value, slope, bend;
  };

  SmoothModel(const DenseMatrix<Scalar>& matrix, const Psi& psi, const SmoothProblem& problem,
              std::span<double> w, double& b)
      : matrix_(matrix),
        psi_(psi),
        problem_(problem),
        w_(w),
        b_(b),
        n_(matrix.rows()),
        d_(matrix.columns()),
        t_(n_),
        dt_(n_),
        trial_(n_),
        u_(n_),
        now_(n_),
        next_(n_) {
    scores_of(w_, b_, t_);
    for (std::size_t i = 0; i < n_; ++i) t_[i] -= problem_.shift[i];
    now_.at(psi_, t_);
    dw_ = w_;  // any step will do: at length 0 none changes the objective
    value_ = along(now_, 0.0).value;
  }

  const SmoothTerms& terms() const { return now_; }
  double value() const { return value_; }

  void record(const SmoothCourse& course, std::size_t step) const {
    course.record(step, value_, w_, {&b_, 1});
  }

  /// The gradient in w: X'u + l2 w, where u are the slopes of the mean loss in the scores. Returns
  /// the sum of u, the gradient in b; 0 if b is not free.
  double find_gradient(std::span<double> gradient) {
    double balance = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      u_[i] = problem_.mass[i] * problem_.sign[i] * now_.slope[i];
      balance += u_[i];
    }
    dense_rmatvec(matrix_, std::span<const double>(u_), 1, gradient);
    for (std::size_t j = 0; j < d_; ++j) gradient[j] += problem_.l2[j] * w_[j];
    return problem_.intercept ? balance : 0.0;
  }

  /// Sets the step that `at` and `move` go along; the numbers of `dw` are not copied.
  void aim(std::span<const double> dw, double db) {
    dw_ = dw;
    db_ = db;
    scores_of(dw, db, dt_);
  }

  /// The objective after a step of this length.
  Along at(double length) {
    for (std::size_t i = 0; i < n_; ++i) trial_[i] = t_[i] + length * dt_[i];
    next_.at(psi_, trial_);
    return along(next_, length);
  }

  /// Whether the objective falls enough from here to there; the slope is that of the whole step.
  bool falls(const Along& there, double length, double slope) const {
    return falls_enough(value_, there.value, length, slope);
  }

  /// Takes the step of this length, the last one that `at` has looked at.
  void move(double length, const Along& there) {
    for (std::size_t j = 0; j < d_; ++j) w_[j] += length * dw_[j];
    b_ += length * db_;
    std::swap(t_, trial_);
    std::swap(now_, next_);
    value_ = there.value;
  }

 private:
  /// sign * (X w + b).
  void scores_of(std::span<const double> w, double b, std::vector<double>& t) {
    const bool moves = std::any_of(w.begin(), w.end(), [](double each) { return each != 0.0; });
    if (moves) {
      dense_matvec(matrix_, w, 1, std::span<double>(t));
    } else {
      std::fill(t.begin(), t.end(), 0.0);
    }
    for (std::size_t i = 0; i < n_; ++i) t[i] = problem_.sign[i] * (t[i] + b);
  }

  Along along(const SmoothTerms& terms, double length) const {
    Along found{0.0, 0.0, 0.0};
    for (std::size_t i = 0; i < n_; ++i) {
      const double mass = problem_.mass[i], dt = dt_[i];
      found.value += mass * terms.value[i];
      found.slope += mass * terms.slope[i] * dt;
      found.bend += mass * terms.bend[i] * dt * dt;
    }
    for (std::size_t j = 0; j < d_; ++j) {
      const double w = w_[j] + length * dw_[j], l2 = problem_.l2[j];
      found.value += 0.5 * l2 * w * w;
      found.slope += l2 * w * dw_[j];
      found.bend += l2 * dw_[j] * dw_[j];
      if (!problem_.l1.empty()) found.value += problem_.l1[j] * std::fabs(w);
    }
    return found;
  }

  const DenseMatrix<Scalar>& matrix_;
  const Psi& psi_;
  const SmoothProblem& problem_;
  std::span<double> w_;
  double& b_;
  std::size_t n_, d_;
  std::vector<double> t_, dt_, trial_, u_;
  SmoothTerms now_, next_;
  std::span<const double> dw_;
  double db_ = 0.0, value_ = 0.0;
};

}  // namespace minimand
