#include "interior/quasi_newton.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/watch.hpp"
#include "dense/products.hpp"
#include "interior/smooth_terms.hpp"

namespace minimand {
namespace {

constexpr double kArmijo = 1e-4;     // share of the promised decrease; convention
constexpr double kFlat = 0.3;        // share of the slope, at which a line search ends; convention
constexpr double kRounding = 1e-13;  // share of P that is rounding; safeguard
constexpr int kTrials = 30;          // of a line search; safeguard
constexpr int kRefined = 2;          // of them, to come nearer to the minimum; safeguard
constexpr std::size_t kPairs = 10;   // steps that are remembered; convention

double dot(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

void add(double factor, const std::vector<double>& x, std::vector<double>& y) {
  for (std::size_t j = 0; j < x.size(); ++j) y[j] += factor * x[j];
}

/// A step and the change of the gradient along it.
struct Pair {
  std::vector<double> step, change;
  double product;
};

/// Variables are w and, at the end, the intercept of centred columns, b + centre'w.
template <class Scalar, class Psi>
class QuasiNewton {
 public:
  QuasiNewton(const DenseMatrix<Scalar>& matrix, const Psi& psi, const SmoothProblem& problem,
              const FirstMetric& metric, std::span<double> w, double& b)
      : matrix_(matrix),
        psi_(psi),
        problem_(problem),
        metric_(metric),
        w_(w),
        b_(b),
        n_(matrix.rows()),
        d_(matrix.columns()),
        t_(n_),
        dt_(n_),
        trial_(n_),
        u_(n_),
        gradient_(d_ + 1),
        step_(d_ + 1),
        image_(d_),
        now_(n_),
        next_(n_) {
    scores_of(w_, b_, t_);
    for (std::size_t i = 0; i < n_; ++i) t_[i] -= problem_.shift[i];
    now_.at(psi_, t_);
    primal_ = along(now_, 0.0).value;
    find_gradient();
  }

  void record(const SmoothCourse& course, std::size_t step) const {
    course.record(step, primal_, w_, {&b_, 1});
  }

  /// A bound of the gap at the best intercept; what columns without a penalty add is an estimate,
  /// half the square of their gradient in the first metric.
  double gap() {
    double total = 0.5 * gradient_[d_] * gradient_[d_] / metric_.total;
    bool free = false;
    for (std::size_t j = 0; j < d_; ++j) {
      const bool own = problem_.l2[j] == 0.0;
      step_[j] = own ? gradient_[j] : 0.0;
      if (!own) total += 0.5 * gradient_[j] * gradient_[j] / problem_.l2[j];
      free = free || own;
    }
    if (!free) return total;
    dense_matvec(metric_.inverse, std::span<const double>(step_).first(d_), 1,
                 std::span<double>(image_));
    for (std::size_t j = 0; j < d_; ++j) total += 0.5 * step_[j] * image_[j];
    return total;
  }

  /// One step; false if there was none.
  bool step() {
    find_direction();
    const double slope = dot(gradient_, step_);
    if (!(slope < 0.0)) return false;
    double db = step_[d_];
    for (std::size_t j = 0; j < d_; ++j) db -= problem_.centre[j] * step_[j];
    scores_of(std::span<const double>(step_).first(d_), db, dt_);
    const double length = search(slope);
    if (length == 0.0) return false;
    for (std::size_t j = 0; j < d_; ++j) w_[j] += length * step_[j];
    b_ += length * db;
    for (double& each : step_) each *= length;
    std::vector<double> before = gradient_;
    find_gradient();
    for (std::size_t j = 0; j <= d_; ++j) before[j] = gradient_[j] - before[j];
    remember(std::move(before));
    return true;
  }

 private:
  struct Along {
    double value, slope, bend;  // of the objective, in the length of the step
  };

  /// sign * (X w + b).
  void scores_of(std::span<const double> w, double b, std::vector<double>& t) {
    const bool moves = std::any_of(w.begin(), w.end(), [](double each) { return each != 0.0; });
    if (moves) dense_matvec(matrix_, w, 1, std::span<double>(t));
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
      const double w = w_[j] + length * step_[j], l2 = problem_.l2[j];
      found.value += 0.5 * l2 * w * w;
      found.slope += l2 * w * step_[j];
      found.bend += l2 * step_[j] * step_[j];
    }
    return found;
  }

  /// Moves to the end of the step; returns its length, 0 if nothing was lower.
  double search(double slope) {
    double length = 1.0;
    for (int trial = 0; trial < kTrials; ++trial) {
      for (std::size_t i = 0; i < n_; ++i) trial_[i] = t_[i] + length * dt_[i];
      next_.at(psi_, trial_);
      const Along here = along(next_, length);
      const double allowed = kRounding * std::fabs(primal_) + kArmijo * length * slope;
      const bool lower = here.value <= primal_ + allowed;
      if (lower && (trial >= kRefined || std::fabs(here.slope) <= -kFlat * slope)) {
        std::swap(t_, trial_);
        std::swap(now_, next_);
        primal_ = here.value;
        return length;
      }
      const double least = here.bend > 0.0 ? length - here.slope / here.bend : 0.5 * length;
      const double low = lower ? 0.5 : 0.1, high = lower ? 4.0 : 0.5;  // of the length; safeguard
      length = std::isfinite(least) ? std::clamp(least, low * length, high * length) : 0.5 * length;
    }
    return 0.0;
  }

  void find_gradient() {
    double balance = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      u_[i] = problem_.mass[i] * problem_.sign[i] * now_.slope[i];
      balance += u_[i];
    }
    if (!problem_.intercept) balance = 0.0;
    dense_rmatvec(matrix_, std::span<const double>(u_), 1, std::span<double>(gradient_).first(d_));
    for (std::size_t j = 0; j < d_; ++j) {
      gradient_[j] += problem_.l2[j] * w_[j] - problem_.centre[j] * balance;
    }
    gradient_[d_] = balance;
  }

  void find_direction() {
    for (std::size_t j = 0; j <= d_; ++j) step_[j] = -gradient_[j];
    std::vector<double> shares(pairs_.size());
    for (std::size_t k = pairs_.size(); k-- > 0;) {
      shares[k] = dot(pairs_[k].step, step_) / pairs_[k].product;
      add(-shares[k], pairs_[k].change, step_);
    }
    dense_matvec(metric_.inverse, std::span<const double>(step_).first(d_), 1,
                 std::span<double>(image_));
    std::copy(image_.begin(), image_.end(), step_.begin());
    step_[d_] /= metric_.total;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      add(shares[k] - dot(pairs_[k].change, step_) / pairs_[k].product, pairs_[k].step, step_);
    }
  }

  void remember(std::vector<double> change) {
    const double product = dot(step_, change);
    if (!(product > 0.0)) return;
    if (pairs_.size() == kPairs) pairs_.erase(pairs_.begin());
    pairs_.push_back({step_, std::move(change), product});
  }

  const DenseMatrix<Scalar>& matrix_;
  const Psi& psi_;
  const SmoothProblem& problem_;
  const FirstMetric& metric_;
  std::span<double> w_;
  double& b_;
  std::size_t n_, d_;
  std::vector<double> t_, dt_, trial_, u_, gradient_, step_, image_;
  SmoothTerms now_, next_;
  std::vector<Pair> pairs_;
  double primal_ = 0.0;
};

}  // namespace

template <class Scalar>
SmoothReport quasi_newton(const DenseMatrix<Scalar>& matrix, const SmoothPsi& psi,
                          const SmoothProblem& problem, const FirstMetric& metric,
                          std::span<double> w, double& b, const SmoothGoal& goal,
                          const SmoothCourse& course) {
  return std::visit(
      [&](const auto& known) {
        QuasiNewton steps(matrix, known, problem, metric, w, b);
        SmoothReport report{0, steps.gap() <= goal.near};
        steps.record(course, 0);
        while (!report.done && report.steps < goal.most && !stopping() && steps.step()) {
          steps.record(course, ++report.steps);
          report.done = steps.gap() <= goal.near;
        }
        return report;
      },
      psi);
}

template SmoothReport quasi_newton(const DenseMatrix<float>&, const SmoothPsi&,
                                   const SmoothProblem&, const FirstMetric&, std::span<double>,
                                   double&, const SmoothGoal&, const SmoothCourse&);
template SmoothReport quasi_newton(const DenseMatrix<double>&, const SmoothPsi&,
                                   const SmoothProblem&, const FirstMetric&, std::span<double>,
                                   double&, const SmoothGoal&, const SmoothCourse&);

}  // namespace minimand
