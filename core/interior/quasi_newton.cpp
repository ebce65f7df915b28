#include "interior/quasi_newton.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/watch.hpp"
#include "dense/products.hpp"
#include "interior/smooth_model.hpp"

namespace minimand {
namespace {

constexpr double kFlat = 0.3;       // share of the slope, at which a line search ends; convention
constexpr int kRefined = 2;         // trials of it that come nearer to the minimum; safeguard
constexpr std::size_t kPairs = 10;  // steps that are remembered; convention

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
      : problem_(problem),
        metric_(metric),
        d_(matrix.columns()),
        model_(matrix, psi, problem, w, b),
        gradient_(d_ + 1),
        step_(d_ + 1),
        image_(d_) {
    find_gradient();
  }

  void record(const SmoothCourse& course, std::size_t step) const { model_.record(course, step); }

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
    model_.aim(std::span<const double>(step_).first(d_), db);
    const double length = search(slope);
    if (length == 0.0) return false;
    for (double& each : step_) each *= length;
    std::vector<double> before = gradient_;
    find_gradient();
    for (std::size_t j = 0; j <= d_; ++j) before[j] = gradient_[j] - before[j];
    remember(std::move(before));
    return true;
  }

 private:
  /// Moves to the end of the step; returns its length, 0 if nothing was lower.
  double search(double slope) {
    double length = 1.0;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto here = model_.at(length);
      const bool lower = model_.falls(here, length, slope);
      if (lower && (trial >= kRefined || std::fabs(here.slope) <= -kFlat * slope)) {
        model_.move(length, here);
        return length;
      }
      const double least = here.bend > 0.0 ? length - here.slope / here.bend : 0.5 * length;
      const double low = lower ? 0.5 : 0.1, high = lower ? 4.0 : 0.5;  // of the length; safeguard
      length = std::isfinite(least) ? std::clamp(least, low * length, high * length) : 0.5 * length;
    }
    return 0.0;
  }

  void find_gradient() {
    const double balance = model_.find_gradient(std::span<double>(gradient_).first(d_));
    for (std::size_t j = 0; j < d_; ++j) gradient_[j] -= problem_.centre[j] * balance;
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

  const SmoothProblem& problem_;
  const FirstMetric& metric_;
  std::size_t d_;
  SmoothModel<Scalar, Psi> model_;
  std::vector<double> gradient_, step_, image_;
  std::vector<Pair> pairs_;
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
