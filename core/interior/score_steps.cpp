#include "interior/score_steps.hpp"

#include <cmath>
#include <vector>

#include "common/lanes.hpp"
#include "common/watch.hpp"
#include "dense/gram.hpp"
#include "dense/products.hpp"
#include "interior/line_rule.hpp"
#include "interior/small_system.hpp"
#include "scores/dense.hpp"
#include "scores/softmax.hpp"

namespace minimand {
namespace {

constexpr double kIdle = 1e-13;    // share of P: a step that gains no more gains nothing; safeguard
constexpr double kForcing = 0.05;  // share of the gap that products may leave; measured: digits
constexpr double kLeft = 0.5;      // share of the goal that products may leave; safeguard
constexpr double kLast = 10.0;     // factor of that, within which a step aims at it; safeguard
constexpr double kLargest = 1e15;  // numbers of X whose products single precision holds; safeguard

using Numbers = std::vector<double>;

/// Values and slopes of all rows.
struct ScoreTerms {
  Numbers value, slope, p;

  ScoreTerms(std::size_t n, std::size_t k) : value(n), slope(n * k), p(n * k) {}
  void at(std::span<const double> z, std::size_t k, std::span<const std::int64_t> y) {
    softmax_terms(z, k, y, {value, slope, p});
  }
};

/// Steps as tables of d + 1 rows, the last one for the intercepts b + mean' W of centred columns.
template <class Scalar>
class ScoreSteps {
 public:
  ScoreSteps(const DenseMatrix<Scalar>& matrix, const ScoresProblem& problem,
             const ScoresPoint& point)
      : matrix_(matrix),
        problem_(problem),
        point_(point),
        n_(matrix.rows()),
        d_(matrix.columns()),
        k_(problem.k),
        rates_(n_),
        products_(n_ * k_),
        trial_(n_ * k_),
        gradient_((d_ + 1) * k_),
        step_((d_ + 1) * k_),
        l2_((d_ + 1) * k_),
        bends_(k_),
        db_(k_),
        by_products_(problem.products > 0),
        now_(n_, k_),
        next_(n_, k_) {
    std::copy(problem.l2.begin(), problem.l2.end(), l2_.begin());
    if (by_products_) copy_rows();
    now_.at(point_.z, k_, problem_.y);
    primal_ = primal(now_, 0.0);
  }

  SmoothReport run(const SmoothGoal& goal, const SmoothCourse& course) {
    SmoothReport report{0, false};
    double promised = HUGE_VAL;
    int idle = 0;  // steps in a row that gain no more than rounding
    course.record(0, primal_, point_.w, point_.b);
    while (true) {
      take_gradient();
      report.done = (problem_.gap ? gap_of(gradient_) : promised) <= goal.near || idle > 1;
      if (report.done || report.steps == goal.most || stopping()) return report;
      promised = step(kLeft * goal.near);
      if (promised < 0.0) return report;
      idle = promised <= kIdle * std::fabs(primal_) ? idle + 1 : 0;
      course.record(++report.steps, primal_, point_.w, point_.b);
    }
  }

 private:
  /// sum_i mass_i value_i + sum l2 W^2 / 2 at a share of the step.
  double primal(const ScoreTerms& terms, double share) const {
    double total = 0.0;
    for (std::size_t i = 0; i < n_; ++i) total += problem_.mass[i] * terms.value[i];
    for (std::size_t j = 0; j < d_ * k_; ++j) {
      const double w = point_.w[j] + share * step_[j];
      total += 0.5 * l2_[j] * w * w;
    }
    return total;
  }

  /// The gradient in W and in the intercepts of centred columns, and the curvature of the scores.
  void take_gradient() {
    double* const balance = gradient_.data() + d_ * k_;
    std::fill(balance, balance + k_, 0.0);
    std::fill(bends_.begin(), bends_.end(), 0.0);
    for (std::size_t i = 0; i < n_; ++i) {
      const double mass = problem_.mass[i];
      for (std::size_t c = 0; c < k_; ++c) {
        const double slope = mass * now_.slope[i * k_ + c], p = now_.p[i * k_ + c];
        products_[i * k_ + c] = slope;
        balance[c] += slope;
        bends_[c] += mass * p * (1.0 - p);
      }
    }
    if (!problem_.intercept) std::fill(balance, balance + k_, 0.0);
    const std::span<double> top = std::span(gradient_).first(d_ * k_);
    dense_rmatvec(matrix_, std::span<const double>(products_), k_, top);
    for (std::size_t j = 0; j < d_; ++j) {
      for (std::size_t c = 0; c < k_; ++c) {
        const std::size_t at = j * k_ + c;
        top[at] += l2_[at] * point_.w[at] - problem_.mean[j] * balance[c];
      }
    }
  }

  /// sum g^2 / (2 l2), and what the best intercepts would gain, about.
  double gap_of(std::span<const double> gradient) const {
    double total = 0.0;
    for (std::size_t j = 0; j < d_ * k_; ++j) {
      if (gradient[j] != 0.0) total += gradient[j] * gradient[j] / l2_[j];
    }
    if (!problem_.intercept) return 0.5 * total;
    for (std::size_t c = 0; c < k_; ++c) {
      const double own = gradient[d_ * k_ + c];
      if (own != 0.0) total += own * own / bends_[c];
    }
    return 0.5 * total;
  }

  /// One step; the decrease that it promised, infinite if it was shortened, negative if none was
  /// possible.
  double step(double left) {
    if (!solve(left)) return -1.0;
    const double promised = -dot(gradient_.data(), step_.data(), step_.size());
    if (!(promised > 0.0)) return promised == 0.0 ? 0.0 : -1.0;
    move_intercepts();
    dense_matvec(matrix_, std::span<const double>(step_).first(d_ * k_), k_,
                 std::span<double>(products_));
    double share = 1.0;
    for (int trial = 0; trial < kTrials; ++trial, share *= 0.5) {
      for (std::size_t i = 0; i < n_ * k_; i += k_) {
        for (std::size_t c = 0; c < k_; ++c) {
          trial_[i + c] = point_.z[i + c] + share * (products_[i + c] + db_[c]);
        }
      }
      next_.at(trial_, k_, problem_.y);
      const double reached = primal(next_, share);
      if (!falls_enough(primal_, reached, share, -promised)) continue;
      for (std::size_t j = 0; j < d_ * k_; ++j) point_.w[j] += share * step_[j];
      for (std::size_t c = 0; c < k_; ++c) point_.b[c] += share * db_[c];
      std::copy(trial_.begin(), trial_.end(), point_.z.begin());
      std::swap(now_, next_);
      primal_ = reached;
      return share == 1.0 ? promised : HUGE_VAL;
    }
    return -1.0;
  }

  /// By products as long as a step takes few of them, at first in single precision: a step need
  /// not be exact, only its gradient. Then with the Hessian.
  bool solve(double left) {
    if (by_products_ && solve_by_products(left)) return true;
    if (by_products_ && !single_.empty()) {
      single_.clear();
      if (solve_by_products(left)) return true;
    }
    by_products_ = false;
    return problem_.formed && solve_formed();
  }

  /// The step of b, from that of the intercepts of centred columns.
  void move_intercepts() {
    std::fill(db_.begin(), db_.end(), 0.0);
    if (!problem_.intercept) return;
    for (std::size_t c = 0; c < k_; ++c) db_[c] = step_[d_ * k_ + c];
    for (std::size_t j = 0; j < d_; ++j) {
      for (std::size_t c = 0; c < k_; ++c) db_[c] -= problem_.mean[j] * step_[j * k_ + c];
    }
  }

  /// Whether one number added to all scores of a line changes the penalty alone, since all scores
  /// have the same: then neither gradient nor step has a part along such shifts.
  bool shifts_apart(std::size_t line) const {
    const double* const own = l2_.data() + line * k_;
    return std::all_of(own, own + k_, [&](double l2) { return l2 == own[0]; });
  }

  // The Hessian and its factor ------------------------------------------------------------------

  std::size_t lines() const { return d_ + (problem_.intercept ? 1 : 0); }

  /// Adds a block of two scores to the lower triangle: rows of W are adjacent by feature.
  void add_pair(std::size_t c, std::size_t e, std::span<const double> gram,
                std::span<const double> first, double total) {
    const std::size_t side = lines() * k_;
    const auto add = [&](std::size_t i, std::size_t j, double value) {
      double* const to = hessian_.data() + i * k_ * side + j * k_;
      to[c * side + c] += value;
      to[e * side + e] += value;
      to[c * side + e] -= value;
      to[e * side + c] -= value;
    };
    for (std::size_t i = 0; i < d_; ++i) {
      for (std::size_t j = 0; j <= i; ++j) add(i, j, gram[i * d_ + j]);
    }
    if (!problem_.intercept) return;
    for (std::size_t j = 0; j < d_; ++j) add(d_, j, first[j]);
    add(d_, d_, total);
  }

  /// diag(p) - pp' is the sum over pairs of p_c p_e (1_c - 1_e)(1_c - 1_e)': no digits cancel.
  void form() {
    const std::size_t side = lines() * k_;
    hessian_.assign(side * side, 0.0);
    gram_.resize(d_ * d_);
    first_.resize(d_);
    for (std::size_t c = 1; c < k_; ++c) {
      for (std::size_t e = 0; e < c; ++e) {
        double total = 0.0;
        for (std::size_t i = 0; i < n_; ++i) {
          rates_[i] = problem_.mass[i] * now_.p[i * k_ + c] * now_.p[i * k_ + e];
          total += rates_[i];
        }
        dense_covariance(matrix_, std::span<const double>(rates_), problem_.mean,
                         std::span<double>(gram_), std::span<double>(first_));
        add_pair(c, e, gram_, first_, total);
      }
    }
  }

  /// Adds curvature along shifts of all scores of a line (`shifts_apart`), where the loss has none,
  /// so that the matrix is regular.
  void fix_shifts() {
    const std::size_t side = lines() * k_;
    for (std::size_t j = 0; j < lines(); ++j) {
      if (!shifts_apart(j)) continue;
      double* const block = hessian_.data() + j * k_ * side + j * k_;
      double size = 0.0;
      for (std::size_t c = 0; c < k_; ++c) size += block[c * side + c];
      const double k = static_cast<double>(k_);
      const double added = size > 0.0 ? size / (k * k) : 1.0 / k;
      for (std::size_t c = 0; c < k_; ++c) {
        for (std::size_t e = 0; e < k_; ++e) block[c * side + e] += added;
      }
    }
  }

  bool solve_formed() {
    const std::size_t side = lines() * k_;
    form();
    fix_shifts();
    for (std::size_t i = 0; i < side; ++i) hessian_[i * side + i] += l2_[i];
    if (!system_.factorise(hessian_, side)) return false;
    for (std::size_t i = 0; i < side; ++i) step_[i] = -gradient_[i];
    system_.solve(std::span(step_).first(side));
    return true;
  }

  // Conjugate gradients -------------------------------------------------------------------------

  /// The rows in single precision, unless a number is too large or too small for it.
  void copy_rows() {
    single_.resize(n_ * d_);
    for (std::size_t i = 0; i < n_; ++i) {
      const auto line = matrix_.line(i);
      for (std::size_t j = 0; j < d_; ++j) {
        const double x = static_cast<double>(line[j]), size = std::fabs(x);
        if (x != 0.0 && !(size < kLargest && size > 1.0 / kLargest)) return single_.clear();
        single_[i * d_ + j] = static_cast<float>(x);
      }
    }
  }

  /// image = (loss + penalty)'' v; the last row of v is changed for the product and restored.
  void multiply(Numbers& v, Numbers& image) {
    double* const last = v.data() + d_ * k_;
    const Numbers kept(last, last + k_);
    if (!problem_.intercept) std::fill(last, last + k_, 0.0);
    for (std::size_t j = 0; j < d_ && problem_.intercept; ++j) {
      for (std::size_t c = 0; c < k_; ++c) last[c] -= problem_.mean[j] * v[j * k_ + c];
    }
    const Simplex curvature{now_.p, problem_.mass};
    if (single_.empty()) {
      dense_simplex_product<double>(matrix_, std::span<const double>(v), k_, curvature,
                                    std::span<double>(image));
    } else {
      const DenseMatrix<float> rows{single_, n_, d_, d_, true};
      dense_simplex_product<float>(rows, std::span<const double>(v), k_, curvature,
                                   std::span<double>(image));
    }
    std::copy(kept.begin(), kept.end(), last);
    double* const total = image.data() + d_ * k_;
    if (!problem_.intercept) std::fill(total, total + k_, 0.0);
    for (std::size_t j = 0; j < d_; ++j) {
      for (std::size_t c = 0; c < k_; ++c) {
        const std::size_t at = j * k_ + c;
        image[at] += l2_[at] * v[at] - problem_.mean[j] * total[c];
      }
    }
  }

  /// About the inverse of the Hessian's diagonal: mean curvature times mean square of a column.
  void take_diagonal() {
    inverse_.resize((d_ + 1) * k_);
    apart_.resize(d_ + 1);
    for (std::size_t j = 0; j <= d_; ++j) {
      apart_[j] = shifts_apart(j);
      const double size = j < d_ ? problem_.size[j] : 1.0;
      for (std::size_t c = 0; c < k_; ++c) {
        const double diagonal = size * bends_[c] + l2_[j * k_ + c];
        inverse_[j * k_ + c] = diagonal > 0.0 ? 1.0 / diagonal : 1.0;
      }
    }
  }

  /// v = inverse * residual, without a shift of all scores in lines where `shifts_apart`; returns
  /// v'residual.
  double precondition(const Numbers& residual, Numbers& v) const {
    for (std::size_t j = 0; j <= d_; ++j) {
      const double *own = inverse_.data() + j * k_, *from = residual.data() + j * k_;
      double level = 0.0;
      if (apart_[j] != 0) level = dot(own, from, k_) / sum(own, k_);
      for (std::size_t c = 0; c < k_; ++c) v[j * k_ + c] = own[c] * (from[c] - level);
    }
    return dot(v.data(), residual.data(), v.size());
  }

  bool solve_by_products(double left) {
    const std::size_t size = step_.size();
    double goal = kForcing * gap_of(gradient_);
    if (goal <= kLast * left) goal = left;
    take_diagonal();
    std::fill(step_.begin(), step_.end(), 0.0);
    Numbers residual(size), v(size), image(size), next(size);
    for (std::size_t i = 0; i < size; ++i) residual[i] = -gradient_[i];
    double energy = precondition(residual, v);
    for (std::size_t product = 0; product < problem_.products; ++product) {
      multiply(v, image);
      const double curvature = dot(v.data(), image.data(), size);
      if (!(curvature > 0.0)) return product > 0;
      const double length = energy / curvature;
      for (std::size_t i = 0; i < size; ++i) {
        step_[i] += length * v[i];
        residual[i] -= length * image[i];
      }
      if (gap_of(residual) <= goal) return true;
      const double before = energy;
      energy = precondition(residual, next);
      for (std::size_t i = 0; i < size; ++i) v[i] = next[i] + energy / before * v[i];
    }
    return false;
  }

  const DenseMatrix<Scalar>& matrix_;
  const ScoresProblem& problem_;
  const ScoresPoint& point_;
  std::size_t n_, d_, k_;
  Numbers rates_, products_, trial_, gradient_, step_, l2_, bends_, db_;
  bool by_products_;
  Numbers hessian_, gram_, first_, inverse_;
  std::vector<char> apart_;
  std::vector<float> single_;  // empty if products are in double precision
  ScoreTerms now_, next_;
  SmallSystem system_;
  double primal_ = 0.0;
};

}  // namespace

template <class Scalar>
SmoothReport score_steps(const DenseMatrix<Scalar>& matrix, const ScoresProblem& problem,
                         const ScoresPoint& point, const SmoothGoal& goal,
                         const SmoothCourse& course) {
  return ScoreSteps(matrix, problem, point).run(goal, course);
}

template SmoothReport score_steps(const DenseMatrix<float>&, const ScoresProblem&,
                                  const ScoresPoint&, const SmoothGoal&, const SmoothCourse&);
template SmoothReport score_steps(const DenseMatrix<double>&, const ScoresProblem&,
                                  const ScoresPoint&, const SmoothGoal&, const SmoothCourse&);

}  // namespace minimand
