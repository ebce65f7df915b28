#include "interior/walk.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/watch.hpp"
#include "dense/gram.hpp"
#include "dense/products.hpp"
#include "interior/hessian.hpp"
#include "interior/small_system.hpp"

namespace minimand {
namespace {

constexpr double kNearest = 0.9995;    // share of the way to the boundary; convention
constexpr double kSteady = 1e-12;      // share of a column's curvature, added to it; safeguard
constexpr double kPinned = 1e200;      // curvature of a coefficient that cannot move; safeguard
constexpr double kNoLength = 1e-12;    // of a step; safeguard
constexpr std::size_t kShortWait = 3;  // steps, after which steps are centred; safeguard

double sum(std::span<const double> values) {
  double total = 0.0;
  for (const double value : values) total += value;
  return total;
}

double dot(std::span<const double> x, std::span<const double> y) {
  double total = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
  return total;
}

template <class Scalar>
class Walk {
 public:
  Walk(const DenseMatrix<Scalar>& matrix, const InteriorProblem& problem, InteriorPoint& point)
      : matrix_(matrix),
        problem_(problem),
        point_(point),
        samples_(problem.samples, point.sample_dual, point.sample_primal),
        features_(problem.features, point.feature_dual, point.feature_primal),
        has_samples_(!point.sample_dual.empty()),
        has_features_(!point.feature_dual.empty()),
        n_(matrix.rows()),
        d_(matrix.columns()),
        gram_(d_ * d_),
        mean_(d_),
        rates_(n_),
        stiff_(d_),
        slopes_(n_),
        gradient_(d_),
        dw_(d_),
        dt_(n_),
        features_pulled_(d_) {
    measure_ =
        (has_samples_ ? samples_.measure() : 0.0) + (has_features_ ? features_.measure() : 0.0);
  }

  double products() const {
    return (has_samples_ ? samples_.products() : 0.0) +
           (has_features_ ? features_.products() : 0.0);
  }

  struct Lengths {
    double dual, primal;
  };

  /// One predictor and one corrector step; false if Newton's equations are singular.
  bool step(double before, double least_centring, Lengths& lengths) {
    if (!prepare()) return false;
    solve();
    lengths = allowed(1.0);
    const double after =
        (has_samples_ ? samples_.products_after(lengths.dual, lengths.primal) : 0.0) +
        (has_features_ ? features_.products_after(lengths.dual, lengths.primal) : 0.0);
    const double share = std::max(after, 0.0) / before;
    const double centring = before > 0.0 ? share * share * share : 0.0;
    const double mu = std::max(centring, least_centring) * before / measure_;
    if (has_samples_) samples_.recentre(mu);
    if (has_features_) features_.recentre(mu);
    solve();
    lengths = allowed(kNearest);
    for (std::size_t j = 0; j < d_; ++j) point_.w[j] += lengths.primal * dw_[j];
    point_.b += lengths.primal * db_;
    for (std::size_t i = 0; i < n_; ++i) point_.t[i] += lengths.primal * dt_[i];
    if (has_samples_) samples_.move(lengths.dual, lengths.primal);
    if (has_features_) features_.move(lengths.dual, lengths.primal);
    return true;
  }

 private:
  /// Newton's equations at this point, the intercept eliminated exactly.
  bool prepare() {
    samples_.begin_step(point_.t, rates_);
    features_.begin_step(point_.w, stiff_);
    total_ = 0.0;
    for (std::size_t i = 0; i < n_; ++i) {
      rates_[i] *= problem_.mass[i];
      total_ += rates_[i];
    }
    form_hessian();
    const double rounding = std::numeric_limits<double>::epsilon() * total_;
    for (std::size_t j = 0; j < d_; ++j) {
      double& diagonal = gram_[j * d_ + j];
      const double own = problem_.pinned[j] ? kPinned : problem_.l2[j] + stiff_[j];
      diagonal += own + kSteady * diagonal + rounding * problem_.spread[j];
    }
    return system_.factorise(gram_, d_);
  }

  void form_hessian() {
    std::fill(mean_.begin(), mean_.end(), 0.0);
    if (!problem_.intercept || !(total_ > 0.0)) {
      dense_gram(matrix_, std::span<const double>(rates_), std::span<double>(gram_));
      return;
    }
    centred_hessian(matrix_, std::span<const double>(rates_), total_, problem_.centre,
                    std::span<double>(gram_), std::span<double>(mean_));
  }

  /// The step for the products that the risers aim at now; the risers follow it.
  void solve() {
    samples_.pulled(slopes_);
    for (std::size_t i = 0; i < n_; ++i) slopes_[i] *= problem_.mass[i] * problem_.sign[i];
    const double balance = problem_.intercept ? sum(slopes_) + problem_.pull_b : 0.0;
    dense_rmatvec(matrix_, std::span<const double>(slopes_), 1, std::span<double>(gradient_));
    features_.pulled(features_pulled_);
    for (std::size_t j = 0; j < d_; ++j) {
      const double slope =
          gradient_[j] + problem_.pull[j] + problem_.l2[j] * point_.w[j] + features_pulled_[j];
      dw_[j] = mean_[j] * balance - (problem_.pinned[j] ? 0.0 : slope);
    }
    system_.solve(dw_);
    db_ = problem_.intercept && total_ > 0.0 ? -balance / total_ - dot(mean_, dw_) : 0.0;
    dense_matvec(matrix_, std::span<const double>(dw_), 1, std::span<double>(dt_));
    for (std::size_t i = 0; i < n_; ++i) dt_[i] = problem_.sign[i] * (dt_[i] + db_);
    if (has_samples_) samples_.follow(dt_);
    if (has_features_) features_.follow(dw_);
  }

  /// The lengths of the dual and primal steps; one common length if anything is curved.
  Lengths allowed(double nearest) const {
    Lengths found{1.0, 1.0};
    const auto shorten = [&found, nearest](const Rises& part) {
      const Rises::Room room = part.room();
      found.dual = std::min(found.dual, nearest * room.dual);
      found.primal = std::min(found.primal, nearest * room.primal);
    };
    if (has_samples_) shorten(samples_);
    if (has_features_) shorten(features_);
    if (!problem_.all_lines) found.dual = found.primal = std::min(found.dual, found.primal);
    return found;
  }

  const DenseMatrix<Scalar>& matrix_;
  const InteriorProblem& problem_;
  InteriorPoint& point_;
  Rises samples_, features_;
  bool has_samples_, has_features_;
  std::size_t n_, d_;
  std::vector<double> gram_, mean_, rates_, stiff_, slopes_, gradient_, dw_, dt_, features_pulled_;
  SmallSystem system_;
  double measure_ = 0.0, total_ = 0.0, db_ = 0.0;
};

}  // namespace

template <class Scalar>
WalkReport walk_inside(const DenseMatrix<Scalar>& matrix, const InteriorProblem& problem,
                       InteriorPoint& point, const WalkGoal& goal, WalkCourse& course) {
  Walk<Scalar> walk(matrix, problem, point);
  WalkReport report{0, 1.0, walk.products(), false, false};
  while (report.steps < goal.most) {
    typename Walk<Scalar>::Lengths lengths{};
    const double least_centring = course.waited > kShortWait ? goal.centred : 0.0;
    if (!walk.step(report.products, least_centring, lengths)) {
      report.singular = true;
      return report;
    }
    ++report.steps;
    report.length = std::min(lengths.dual, lengths.primal);
    report.products = walk.products();
    course.unmet_dual *= 1.0 - lengths.dual;
    course.unmet_primal *= 1.0 - lengths.primal;
    course.waited = report.products < 0.5 * course.least ? 0 : course.waited + 1;
    course.least = std::min(course.least, report.products);
    report.stuck = !(report.length > kNoLength) || course.waited >= goal.patience ||
                   !(report.products <= goal.far);
    if (report.products <= goal.near || report.stuck || stopping()) break;
  }
  return report;
}

template WalkReport walk_inside(const DenseMatrix<float>&, const InteriorProblem&, InteriorPoint&,
                                const WalkGoal&, WalkCourse&);
template WalkReport walk_inside(const DenseMatrix<double>&, const InteriorProblem&, InteriorPoint&,
                                const WalkGoal&, WalkCourse&);

}  // namespace minimand
