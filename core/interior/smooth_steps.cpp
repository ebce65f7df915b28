#include "interior/smooth_steps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/watch.hpp"
#include "interior/kept_hessian.hpp"
#include "interior/small_system.hpp"
#include "interior/smooth_model.hpp"
#include "support/minimiser.hpp"

namespace minimand {
namespace {

constexpr double kLeast = 1e-2;  // share of rounding, below which a promise is met; safeguard
constexpr double kSwept = 1e-9;  // share of `near` that sweeps on a model may gain; safeguard
constexpr double kFar = 1e6;     // square of a mean over the variance of its column; safeguard

template <class Scalar, class Psi>
class Steps {
 public:
  Steps(const DenseMatrix<Scalar>& matrix, const Psi& psi, const SmoothProblem& problem,
        std::span<double> w, double& b, double near)
      : problem_(problem),
        w_(w),
        swept_(kSwept * near),
        d_(matrix.columns()),
        model_(matrix, psi, problem, w, b),
        hessian_(matrix, problem.centre, problem.intercept || !problem.l1.empty()),
        rates_(matrix.rows()),
        gram_(d_ * d_),
        mean_(d_),
        gradient_(d_),
        dw_(d_),
        linear_(problem.l1.size()),
        aim_(problem.l1.size()),
        line_(problem.l1.size()) {}

  void record(const SmoothCourse& course, std::size_t step) const { model_.record(course, step); }

  /// One step; the decrease that it promised, negative if there was none.
  double step() {
    if (!prepare()) return -1.0;
    const double promised = direction();
    // With kinks the promise is a difference, which rounding may make negative.
    const double noise = problem_.l1.empty() ? 0.0 : kRounding * std::fabs(model_.value());
    if (!(promised > 0.0)) return promised >= -noise ? 0.0 : -1.0;
    double length = 1.0;
    for (int trial = 0; trial < kTrials; ++trial, length *= 0.5) {
      const auto here = model_.at(length);
      if (!model_.falls(here, length, -promised)) continue;
      model_.move(length, here);
      if (length < 1.0) return HUGE_VAL;
      return promised > kLeast * noise ? promised : 0.0;
    }
    return -1.0;
  }

 private:
  /// The Hessian in w, the intercept eliminated, and its factor; without l2 and factor under l1.
  bool prepare() {
    total_ = 0.0;
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      rates_[i] = problem_.mass[i] * model_.terms().bend[i];
      total_ += rates_[i];
    }
    if ((problem_.intercept || !problem_.l1.empty()) && !(total_ > 0.0)) return false;
    if (factorised()) return true;
    if (!hessian_.changed()) return false;
    hessian_.forget();
    return factorised();
  }

  bool factorised() {
    hessian_.at(rates_, total_, gram_, mean_);
    if (!problem_.l1.empty()) {
      if (!problem_.intercept) move_to_zero();
      return true;
    }
    for (std::size_t j = 0; j < d_; ++j) gram_[j * d_ + j] += problem_.l2[j];
    return system_.factorise(gram_, d_);
  }

  /// From the sums about the mean to those about zero. Columns that are far from zero lose no
  /// digits where the second term stays apart, as `line_`; but a constant one has nothing else.
  void move_to_zero() {
    bool far = false, constant = false;
    for (std::size_t j = 0; j < d_; ++j) {
      const double square = total_ * mean_[j] * mean_[j], own = gram_[j * (d_ + 1)];
      far = far || square > kFar * own;
      constant = constant || !(own > 0.0);
    }
    apart_ = far && !constant;
    std::swap(line_, mean_);
    std::fill(mean_.begin(), mean_.end(), 0.0);
    for (std::size_t i = 0; i < d_ && !apart_; ++i) {
      for (std::size_t j = 0; j < d_; ++j) gram_[i * d_ + j] += total_ * line_[i] * line_[j];
    }
  }

  GramView model_gram() const {
    if (!apart_) return {gram_, d_, d_};
    return {gram_, d_, d_, line_, total_};
  }

  /// Solves for the step; returns minus the slope along it, under l1 that of the whole step.
  double direction() {
    const double balance = model_.find_gradient(gradient_);
    if (problem_.l1.empty()) {
      for (std::size_t j = 0; j < d_; ++j) dw_[j] = mean_[j] * balance - gradient_[j];
      system_.solve(dw_);
    } else {
      minimise_model(balance);
    }
    double db = problem_.intercept ? -balance / total_ : 0.0;
    double promised = 0.0;
    for (std::size_t j = 0; j < d_; ++j) {
      db -= mean_[j] * dw_[j];
      promised -= gradient_[j] * dw_[j];
      if (problem_.l1.empty()) continue;
      promised += problem_.l1[j] * (std::fabs(w_[j]) - std::fabs(w_[j] + dw_[j]));
    }
    model_.aim(dw_, db);
    return promised - balance * db;
  }

  /// The step to the minimiser of the quadratic model with both penalties.
  void minimise_model(double balance) {
    std::fill(linear_.begin(), linear_.end(), 0.0);
    gradient_at(model_gram(), linear_, w_, aim_);
    for (std::size_t j = 0; j < d_; ++j) {
      linear_[j] = gradient_[j] - mean_[j] * balance - aim_[j] - problem_.l2[j] * w_[j];
      aim_[j] = w_[j];
    }
    minimise_on_gram(model_gram(), linear_, aim_, {problem_.l1, problem_.l2}, swept_);
    for (std::size_t j = 0; j < d_; ++j) dw_[j] = aim_[j] - w_[j];
  }

  const SmoothProblem& problem_;
  std::span<double> w_;
  double swept_;
  std::size_t d_;
  SmoothModel<Scalar, Psi> model_;
  KeptHessian<Scalar> hessian_;
  std::vector<double> rates_, gram_, mean_, gradient_, dw_;
  std::vector<double> linear_, aim_;  // of the model, under l1
  std::vector<double> line_;          // the means of columns, under l1 without an intercept
  bool apart_ = false;                // whether the Gram of the model is without them
  SmallSystem system_;
  double total_ = 0.0;
};

}  // namespace

template <class Scalar>
SmoothReport smooth_steps(const DenseMatrix<Scalar>& matrix, const SmoothPsi& psi,
                          const SmoothProblem& problem, std::span<double> w, double& b,
                          const SmoothGoal& goal, const SmoothCourse& course) {
  return std::visit(
      [&](const auto& known) {
        Steps steps(matrix, known, problem, w, b, goal.near);
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
