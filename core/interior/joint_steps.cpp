#include "interior/joint_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/watch.hpp"
#include "dense/products.hpp"
#include "interior/kept_hessian.hpp"
#include "interior/small_system.hpp"
#include "scalar/residuals.hpp"

namespace minimand {
namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr int kHalvings = 40;     // of a cautious step; safeguard
constexpr int kBold = 2;          // of Newton's step, after which others are tried; safeguard
constexpr double kArmijo = 1e-4;  // share of the promised decrease; convention
constexpr int kFailures = 4;      // of Newton's step, after which it gives up; safeguard
constexpr double kShrink = 0.1;   // share of the scale that a step leaves; safeguard

double dot(std::span<const double> x, std::span<const double> y) {
  double total = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
  return total;
}

/// slope / bend; 0 where the scale has no curvature of its own, up to rounding of the whole.
double quotient(double slope, double bend, double whole) {
  return bend > 16.0 * kEps * whole ? slope / bend : 0.0;
}

enum class Found { kStep, kNothing, kSingular };

struct Step {
  std::vector<double> dw, dz, p;
  double db = 0.0, dsigma = 0.0;
  double slope = 0.0;  // of F along the step
};

/// A length of a step along which F falls enough; 0 if there is none.
struct Trial {
  double length = 0.0, sigma = 0.0, value = HUGE_VAL;
};

template <class Scalar>
class Steps {
 public:
  Steps(const DenseMatrix<Scalar>& matrix, const JointProblem& problem, JointPlace& place)
      : matrix_(matrix),
        problem_(problem),
        place_(place),
        n_(problem.y.size()),
        d_(problem.c.size()),
        hessian_(matrix, problem.centre, problem.intercept),
        r_(n_),
        t_(n_),
        u_(n_),
        rates_(n_),
        weighted_(n_),
        gram_(d_ * d_),
        mean_(d_),
        gradient_(d_),
        cross_(d_),
        first_(d_),
        second_(d_) {
    const Trial here = at(Step{}, 0.0, place.sigma);
    place_.sigma = here.sigma;
    place_.value = here.value;
  }

  JointReport run(double near, std::size_t most) {
    JointReport report;
    bool bold = fixed();
    int failures = 0;
    for (; report.steps < most; ++report.steps) {
      const Found found = find_step(bold, step_);
      report.singular = found == Found::kSingular;
      if (found != Found::kStep) break;
      report.settled = bold && !(-step_.slope > 4.0 * kEps * std::fabs(place_.value));
      if (report.settled) break;
      Trial trial = moved(step_, bold && !fixed() ? kBold : kHalvings, 0.0);
      if (trial.length == 0.0 && bold && !fixed() && failures++ < kFailures) trial = instead();
      if (trial.length == 0.0) break;
      take(trial);
      bold = true;
      if (!fixed()) {
        report.aimed = true;
        const double above = place_.value - aim();
        report.near = near > 0.0 && above <= near;
      }
      if (report.near || stopping()) {
        ++report.steps;
        break;
      }
    }
    return report;
  }

 private:
  bool fixed() const { return d_ == 0; }

  /// Newton's equations, or cautious ones.
  Found find_step(bool bold, Step& step) {
    const double sigma = place_.sigma, epsilon = problem_.epsilon, unit = 2.0 / sigma;
    double squares = 0.0, sum = 0.0, balance = 0.0, first = 0.0, whole = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double mass = problem_.mass[i], t = (place_.z[i] - problem_.y[i]) / sigma;
      const double clipped = std::clamp(t, -epsilon, epsilon);
      const bool inside = clipped == t;
      u_[i] = 2.0 * mass * clipped;
      t_[i] = bold && inside ? t : 0.0;
      rates_[i] = inside ? mass : bold ? 0.0 : mass * clipped / t;
      weighted_[i] = unit * rates_[i] * t_[i];
      squares += mass * clipped * clipped;
      sum += rates_[i];
      balance += u_[i];
      first += weighted_[i];
      whole += weighted_[i] * t_[i];
    }
    if (!(sum > 0.0)) return Found::kNothing;
    const double slope_sigma = bold ? 1.0 - squares : 0.0, total = unit * sum;
    const double level = problem_.intercept ? first / total : 0.0;
    if (!problem_.intercept) balance = 0.0;
    const double bend = whole - total * level * level;
    if (!fixed() && !factorised(sum, unit)) return Found::kSingular;
    double right = slope_sigma + level * balance, own = bend;
    if (!fixed()) {
      solve(balance, total * level);
      right -= dot(cross_, first_);
      own -= dot(cross_, second_);
    }
    step.dsigma = quotient(-right, own, whole);
    step.dw.resize(d_);
    for (std::size_t j = 0; j < d_; ++j) step.dw[j] = -first_[j] - second_[j] * step.dsigma;
    step.db =
        problem_.intercept ? level * step.dsigma - balance / total - dot(mean_, step.dw) : 0.0;
    step.slope = dot(gradient_, step.dw) + balance * step.db + slope_sigma * step.dsigma;
    step.dz.assign(n_, 0.0);
    if (!fixed()) {
      dense_matvec(matrix_, std::span<const double>(step.dw), 1, std::span<double>(step.dz));
    }
    step.p.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      step.dz[i] += step.db;
      step.p[i] = u_[i] + unit * rates_[i] * (step.dz[i] - t_[i] * step.dsigma);
    }
    return Found::kStep;
  }

  /// The factor of the Hessian in w.
  bool factorised(double sum, double unit) {
    for (;;) {
      hessian_.at(rates_, sum, gram_, mean_);
      for (double& each : gram_) each *= unit;
      for (std::size_t j = 0; j < d_; ++j) gram_[j * (d_ + 1)] += 2.0 * problem_.c[j];
      if (system_.factorise(gram_, d_)) return true;
      if (!hessian_.changed()) return false;
      hessian_.forget();
    }
  }

  /// The gradient in w, its cross derivatives with the scale, and the system's answers to both.
  void solve(double balance, double level) {
    dense_rmatvec(matrix_, std::span<const double>(u_), 1, std::span<double>(gradient_));
    dense_rmatvec(matrix_, std::span<const double>(weighted_), 1, std::span<double>(cross_));
    for (std::size_t j = 0; j < d_; ++j) {
      gradient_[j] += 2.0 * problem_.c[j] * place_.w[j];
      cross_[j] = level * mean_[j] - cross_[j];
      first_[j] = gradient_[j] - mean_[j] * balance;
      second_[j] = cross_[j];
    }
    system_.solve(first_);
    system_.solve(second_);
  }

  /// F after a part of a step, at the best scale for the residuals there; at a given one if that
  /// is 0.
  Trial at(const Step& step, double length, double sigma) {
    for (std::size_t i = 0; i < n_; ++i) {
      const double dz = length != 0.0 ? length * step.dz[i] : 0.0;
      r_[i] = place_.z[i] + dz - problem_.y[i];
    }
    double price = 0.0;
    for (std::size_t j = 0; j < d_; ++j) {
      const double w = place_.w[j] + (length != 0.0 ? length * step.dw[j] : 0.0);
      price += problem_.c[j] * w * w;
    }
    const HuberScale best = huber_scale(r_, problem_.mass, problem_.epsilon);
    if (best.sigma > 0.0) return {length, best.sigma, best.value + price};
    double huber = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double t = std::fabs(r_[i]) / sigma, inside = std::min(t, problem_.epsilon);
      huber += problem_.mass[i] * inside * (2.0 * t - inside);
    }
    return {length, sigma, sigma * (1.0 + huber) + price};
  }

  /// The longest of some halved steps along which F falls enough. The first one leaves a share
  /// `least` of the scale, if that is positive.
  Trial moved(const Step& step, int halvings, double least) {
    const double sigma = place_.sigma;
    double length = 1.0;
    if (least > 0.0 && step.dsigma < (least - 1.0) * sigma) {
      length = (least - 1.0) * sigma / step.dsigma;
    }
    for (int k = 0; k <= halvings; ++k, length *= 0.5) {
      const double scale = std::max(sigma + length * step.dsigma, kShrink * sigma);
      const Trial trial = at(step, length, scale);
      if (trial.value <= place_.value + kArmijo * length * step.slope) return trial;
    }
    return {};
  }

  /// The better one of a cautious step and of a shorter Newton's step, which becomes `step_`.
  Trial instead() {
    const bool careful = find_step(false, other_) == Found::kStep;
    const Trial shorter = moved(step_, kHalvings, kShrink);
    const Trial cautious = careful ? moved(other_, kHalvings, 0.0) : Trial{};
    if (cautious.length == 0.0 || shorter.value < cautious.value) return shorter;
    std::swap(step_, other_);
    return cautious;
  }

  void take(const Trial& trial) {
    for (std::size_t j = 0; j < d_; ++j) place_.w[j] += trial.length * step_.dw[j];
    for (std::size_t i = 0; i < n_; ++i) place_.z[i] += trial.length * step_.dz[i];
    place_.b += trial.length * step_.db;
    place_.sigma = trial.sigma;
    place_.value = trial.value;
    length_ = trial.length;
  }

  /// Notes the multipliers that the whole of the last step aimed at, and the lower bound of F that
  /// they prove, up to rounding.
  double aim() {
    double largest = 0.0, square = 0.0, product = 0.0, price = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      const double mass = problem_.mass[i];
      const double theta = mass > 0.0 ? step_.p[i] / mass : 0.0;
      place_.theta[i] = theta;
      largest = std::max(largest, std::fabs(theta));
      square += mass * theta * theta;
      product += step_.p[i] * problem_.target[i];
    }
    for (std::size_t j = 0; j < d_; ++j) {
      const double w = place_.w[j] + (1.0 - length_) * step_.dw[j];
      price += problem_.c[j] * w * w;
    }
    const double size = std::max(0.5 * largest / problem_.epsilon, 0.5 * std::sqrt(square));
    const double share = 1.0 / std::max(1.0, size);
    return std::max(-share * product - share * share * price, 0.0);
  }

  const DenseMatrix<Scalar>& matrix_;
  const JointProblem& problem_;
  JointPlace& place_;
  std::size_t n_, d_;
  KeptHessian<Scalar> hessian_;
  std::vector<double> r_, t_, u_, rates_, weighted_;
  std::vector<double> gram_, mean_, gradient_, cross_, first_, second_;
  SmallSystem system_;
  Step step_, other_;
  double length_ = 0.0;  // of the last step
};

}  // namespace

template <class Scalar>
JointReport joint_steps(const DenseMatrix<Scalar>& matrix, const JointProblem& problem,
                        JointPlace& place, double near, std::size_t most) {
  return Steps<Scalar>(matrix, problem, place).run(near, most);
}

template JointReport joint_steps(const DenseMatrix<float>&, const JointProblem&, JointPlace&,
                                 double, std::size_t);
template JointReport joint_steps(const DenseMatrix<double>&, const JointProblem&, JointPlace&,
                                 double, std::size_t);

}  // namespace minimand
