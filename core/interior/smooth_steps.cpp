#include "interior/smooth_steps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/watch.hpp"
#include "dense/products.hpp"
#include "interior/kept_hessian.hpp"
#include "interior/small_system.hpp"
#include "interior/smooth_terms.hpp"

namespace minimand {
namespace {

constexpr double kArmijo = 1e-4;     // share of the promised decrease; convention
constexpr double kRounding = 1e-13;  // share of P that is rounding; safeguard
constexpr int kHalvings = 30;        // of a step; safeguard

template <class Scalar, class Psi>
class Steps {
 public:
  Steps(const DenseMatrix<Scalar>& matrix, const Psi& psi, const SmoothProblem& problem,
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
        h_(n_),
        gram_(d_ * d_),
        mean_(d_),
        gradient_(d_),
        dw_(d_),
        now_(n_),
        next_(n_),
        hessian_(matrix, problem.centre, problem.intercept) {
    dense_matvec(matrix_, std::span<const double>(w_), 1, std::span<double>(t_));
    for (std::size_t i = 0; i < n_; ++i) {
      t_[i] = problem_.sign[i] * (t_[i] + b_) - problem_.shift[i];
    }
    now_.at(psi_, t_);
    primal_ = primal(now_, 0.0);
  }

  void record(const SmoothCourse& course, std::size_t step) const {
    course.record(step, primal_, w_, {&b_, 1});
  }

  /// One step; the decrease that it promised, negative if there was none.
  double step() {
    if (!prepare()) return -1.0;
    const double promised = direction();
    if (!(promised > 0.0)) return promised == 0.0 ? 0.0 : -1.0;
    double length = 1.0;
    for (int trial = 0; trial < kHalvings; ++trial, length *= 0.5) {
      for (std::size_t i = 0; i < n_; ++i) trial_[i] = t_[i] + length * dt_[i];
      next_.at(psi_, trial_);
      const double reached = primal(next_, length);
      const double allowed = kRounding * std::fabs(primal_) - kArmijo * length * promised;
      if (!(reached <= primal_ + allowed)) continue;
      for (std::size_t j = 0; j < d_; ++j) w_[j] += length * dw_[j];
      b_ += length * db_;
      std::swap(t_, trial_);
      std::swap(now_, next_);
      primal_ = reached;
      return length == 1.0 ? promised : HUGE_VAL;
    }
    return -1.0;
  }

 private:
  double primal(const SmoothTerms& terms, double length) const {
    double total = 0.0;
    for (std::size_t i = 0; i < n_; ++i) total += problem_.mass[i] * terms.value[i];
    for (std::size_t j = 0; j < d_; ++j) {
      const double w = w_[j] + length * dw_[j];
      total += 0.5 * problem_.l2[j] * w * w;
    }
    return total;
  }

  /// The Hessian in w, the intercept eliminated, and its factor.
  bool prepare() {
    total_ = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      h_[i] = problem_.mass[i] * now_.bend[i];
      total_ += h_[i];
    }
    if (problem_.intercept && !(total_ > 0.0)) return false;
    if (factorised()) return true;
    if (!hessian_.changed()) return false;
    hessian_.forget();
    return factorised();
  }

  bool factorised() {
    hessian_.at(h_, total_, gram_, mean_);
    for (std::size_t j = 0; j < d_; ++j) gram_[j * d_ + j] += problem_.l2[j];
    return system_.factorise(gram_, d_);
  }

  /// Solves for the step; returns minus the slope along it.
  double direction() {
    double balance = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      h_[i] = problem_.mass[i] * problem_.sign[i] * now_.slope[i];
      balance += h_[i];
    }
    if (!problem_.intercept) balance = 0.0;
    dense_rmatvec(matrix_, std::span<const double>(h_), 1, std::span<double>(gradient_));
    for (std::size_t j = 0; j < d_; ++j) {
      gradient_[j] += problem_.l2[j] * w_[j];
      dw_[j] = mean_[j] * balance - gradient_[j];
    }
    system_.solve(dw_);
    db_ = problem_.intercept ? -balance / total_ : 0.0;
    double promised = 0.0;
    for (std::size_t j = 0; j < d_; ++j) {
      db_ -= mean_[j] * dw_[j];
      promised -= gradient_[j] * dw_[j];
    }
    promised -= balance * db_;
    dense_matvec(matrix_, std::span<const double>(dw_), 1, std::span<double>(dt_));
    for (std::size_t i = 0; i < n_; ++i) dt_[i] = problem_.sign[i] * (dt_[i] + db_);
    return promised;
  }

  const DenseMatrix<Scalar>& matrix_;
  const Psi& psi_;
  const SmoothProblem& problem_;
  std::span<double> w_;
  double& b_;
  std::size_t n_, d_;
  std::vector<double> t_, dt_, trial_, h_, gram_, mean_, gradient_, dw_;
  SmoothTerms now_, next_;
  KeptHessian<Scalar> hessian_;
  SmallSystem system_;
  double primal_ = 0.0, total_ = 0.0, db_ = 0.0;
};

}  // namespace

template <class Scalar>
SmoothReport smooth_steps(const DenseMatrix<Scalar>& matrix, const SmoothPsi& psi,
                          const SmoothProblem& problem, std::span<double> w, double& b,
                          const SmoothGoal& goal, const SmoothCourse& course) {
  return std::visit(
      [&](const auto& known) {
        Steps steps(matrix, known, problem, w, b);
        SmoothReport report{0, false};
        steps.record(course, 0);
        while (report.steps < goal.most && !stopping()) {
          const double promised = steps.step();
          if (promised < 0.0) break;
          steps.record(course, ++report.steps);
          report.done = promised <= goal.near;
          if (report.done) break;
        }
        return report;
      },
      psi);
}

template SmoothReport smooth_steps(const DenseMatrix<float>&, const SmoothPsi&,
                                   const SmoothProblem&, std::span<double>, double&,
                                   const SmoothGoal&, const SmoothCourse&);
template SmoothReport smooth_steps(const DenseMatrix<double>&, const SmoothPsi&,
                                   const SmoothProblem&, std::span<double>, double&,
                                   const SmoothGoal&, const SmoothCourse&);

}  // namespace minimand
