#include "interior/smooth_steps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/watch.hpp"
#include "interior/kept_hessian.hpp"
#include "interior/small_system.hpp"
#include "interior/smooth_model.hpp"

namespace minimand {
namespace {

template <class Scalar, class Psi>
class Steps {
 public:
  Steps(const DenseMatrix<Scalar>& matrix, const Psi& psi, const SmoothProblem& problem,
        std::span<double> w, double& b)
      : problem_(problem),
        d_(matrix.columns()),
        model_(matrix, psi, problem, w, b),
        hessian_(matrix, problem.centre, problem.intercept),
        rates_(matrix.rows()),
        gram_(d_ * d_),
        mean_(d_),
        gradient_(d_),
        dw_(d_) {}

  void record(const SmoothCourse& course, std::size_t step) const { model_.record(course, step); }

  /// One step; the decrease that it promised, negative if there was none.
  double step() {
    if (!prepare()) return -1.0;
    const double promised = direction();
    if (!(promised > 0.0)) return promised == 0.0 ? 0.0 : -1.0;
    double length = 1.0;
    for (int trial = 0; trial < kTrials; ++trial, length *= 0.5) {
      const auto here = model_.at(length);
      if (!model_.falls(here, length, -promised)) continue;
      model_.move(length, here);
      return length == 1.0 ? promised : HUGE_VAL;
    }
    return -1.0;
  }

 private:
  /// The Hessian in w, the intercept eliminated, and its factor.
  bool prepare() {
    total_ = 0.0;
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      rates_[i] = problem_.mass[i] * model_.terms().bend[i];
      total_ += rates_[i];
    }
    if (problem_.intercept && !(total_ > 0.0)) return false;
    if (factorised()) return true;
    if (!hessian_.changed()) return false;
    hessian_.forget();
    return factorised();
  }

  bool factorised() {
    hessian_.at(rates_, total_, gram_, mean_);
    for (std::size_t j = 0; j < d_; ++j) gram_[j * d_ + j] += problem_.l2[j];
    return system_.factorise(gram_, d_);
  }

  /// Solves for the step; returns minus the slope along it.
  double direction() {
    const double balance = model_.find_gradient(gradient_);
    for (std::size_t j = 0; j < d_; ++j) dw_[j] = mean_[j] * balance - gradient_[j];
    system_.solve(dw_);
    double db = problem_.intercept ? -balance / total_ : 0.0;
    double promised = 0.0;
    for (std::size_t j = 0; j < d_; ++j) {
      db -= mean_[j] * dw_[j];
      promised -= gradient_[j] * dw_[j];
    }
    model_.aim(dw_, db);
    return promised - balance * db;
  }

  const SmoothProblem& problem_;
  std::size_t d_;
  SmoothModel<Scalar, Psi> model_;
  KeptHessian<Scalar> hessian_;
  std::vector<double> rates_, gram_, mean_, gradient_, dw_;
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
