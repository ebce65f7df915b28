#include "path/on_curves.hpp"

#include <cmath>
#include <limits>

#include "common/lanes.hpp"
#include "common/watch.hpp"
#include "dense/products.hpp"
#include "path/gap.hpp"
#include "scalar/functions.hpp"
#include "scalar/separable.hpp"

namespace minimand {
namespace {

constexpr double kFlat = 0.1;  // share of the first slope that ends a line search; safeguard
constexpr int kTrials = 40;    // of a line search; safeguard
constexpr double kInside =
    0.05;  // share of a bracket: a secant's distance from its ends; safeguard
constexpr double kRounding = 1e-12;  // share of the loss; safeguard
constexpr int kShifts = 50;          // Newton steps of the constant; safeguard
constexpr double kBalanced = 1e-9;   // share of the slope's terms before the last step; safeguard
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// An estimate of the gap, from how far a mean of squares of the same scale would be from its
/// minimum at these slopes.
double shortfall(double scale, Penalties penalties, std::span<const double> w,
                 std::span<const double> slope) {
  return gap_of_squares(2.0 * scale, slope, w, penalties).found.gap;
}

double sum_of(std::span<const double> a, std::span<const double> b) { return inner_product(a, b); }

}  // namespace

template <class Scalar>
std::size_t PathOnCurves::solve(const DenseMatrix<Scalar>& matrix, const LogisticRows& rows,
                                const OlderCurvature& older, const PathGrid& grid,
                                std::size_t first, bool started, const CurveGoal& goal) {
  const std::size_t n = rows.y.size(), m = older.gram.count;
  for (auto* by_row : {&z_, &moved_, &along_, &gradient_, &curvature_, &value_}) by_row->resize(n);
  for (auto* by_column : {&slope_, &linear_, &new_, &step_, &l1_, &l2_}) by_column->resize(m);
  const auto row = [&](std::size_t k) { return grid.coefs.subspan(k * m, m); };
  for (std::size_t k = first; k < grid.alphas.size(); ++k) {
    if (k > 0 && !(k == first && started)) {
      const double ahead =
          k > 1 ? steps_ahead(grid.alphas[k - 2], grid.alphas[k - 1], grid.alphas[k]) : 0.0;
      draw_on(row(k > 1 ? k - 2 : k - 1), row(k - 1), ahead, row(k));
    }
    if (!settle(matrix, rows, older, grid.penalties(k, m), row(k), goal)) return k;
  }
  return grid.alphas.size();
}

template <class Scalar>
bool PathOnCurves::settle(const DenseMatrix<Scalar>& matrix, const LogisticRows& rows,
                          const OlderCurvature& older, Penalties penalties, std::span<double> w,
                          const CurveGoal& goal) {
  dense_matvec(matrix, w, 1, z_);
  if (!rows.offset.empty()) add_scaled(z_, 1.0, rows.offset);
  for (std::size_t step = 0; step < goal.steps; ++step) {
    if (rows.free_constant && !centre(rows)) return false;
    const double total = derivatives(rows, z_);
    dense_rmatvec(matrix, gradient_, 1, slope_);
    if (shortfall(goal.scale, penalties, w, slope_) <= goal.gap) return true;
    if (stopping()) return false;
    const double growth = total / older.total;
    const double grown = growth > 0.0 && std::isfinite(growth) ? growth : 1.0;
    if (!minimise_model(older, penalties, w, grown, goal)) return false;
    dense_matvec(matrix, step_, 1, along_);
    const double shift = -sum_of(older.mean, step_);
    for (double& value : along_) value += shift;
    const double t = line_search(rows, penalties, w);
    if (!(t > 0.0)) return false;
    // Zeros of the model are kept exactly: with rounding, w + 1 (new - w) may differ from new.
    for (std::size_t j = 0; j < w.size(); ++j) w[j] = t == 1.0 ? new_[j] : w[j] + t * step_[j];
    add_scaled(z_, t, along_);
  }
  return false;
}

/// new_ and step_: the minimiser of the model, which is divided by the growth of the curvature so
/// that its Gram and factor are kept. False if it is where w is.
bool PathOnCurves::minimise_model(const OlderCurvature& older, Penalties penalties,
                                  std::span<const double> w, double grown, const CurveGoal& goal) {
  const std::size_t m = w.size();
  const std::vector<double> nothing(m);
  gradient_at(older.gram, nothing, w, linear_);
  double square = goal.scale / grown;
  for (std::size_t j = 0; j < m; ++j) {
    const double slope = slope_[j] / grown;
    linear_[j] = slope - linear_[j];
    square -= w[j] * (slope + linear_[j]);
    l1_[j] = penalties.l1[j] / grown;
    l2_[j] = penalties.l2[j] / grown;
    new_[j] = w[j];
  }
  const double one = 1.0;
  const PathGrid single{{&one, 1}, l1_, l2_, new_};
  model_.solve({older.gram, linear_, square}, single, 0, true,
               {goal.model_gap / grown, goal.rounds});
  bool moves = false;
  for (std::size_t j = 0; j < m; ++j) {
    step_[j] = new_[j] - w[j];
    if (!std::isfinite(step_[j])) return false;
    moves |= step_[j] != 0.0;
  }
  return moves;
}

/// gradient_ and curvature_ at z, times the masses; the sum of the latter.
double PathOnCurves::derivatives(const LogisticRows& rows, std::span<const double> z) {
  logistic_derivatives(z, rows.y, gradient_, curvature_);
  double total = 0.0;
  for (std::size_t i = 0; i < z.size(); ++i) {
    gradient_[i] *= rows.mass[i];
    curvature_[i] *= rows.mass[i];
    total += curvature_[i];
  }
  return total;
}

/// Moves z_ by the best constant, by Newton's method; false if that does not settle.
bool PathOnCurves::centre(const LogisticRows& rows) {
  for (int k = 0; k < kShifts; ++k) {
    const double bend = derivatives(rows, z_);
    double slope = 0.0, size = 0.0;
    for (const double g : gradient_) {
      slope += g;
      size += std::fabs(g);
    }
    if (std::fabs(slope) <= kEpsilon * size) return true;
    const double shift = -slope / bend;
    if (!(std::fabs(shift) < 8.0)) return false;  // far off: not for Newton's method; safeguard
    for (double& value : z_) value += shift;
    if (std::fabs(slope) <= kBalanced * size) return true;
  }
  return false;
}

/// The slope of the objective along the step, at t; at a kink that of the side which faces it.
double PathOnCurves::slope_at(const LogisticRows& rows, Penalties penalties,
                              std::span<const double> w, double t) {
  for (std::size_t i = 0; i < z_.size(); ++i) moved_[i] = z_[i] + t * along_[i];
  derivatives(rows, moved_);
  double slope = sum_of(gradient_, along_);
  for (std::size_t j = 0; j < w.size(); ++j) {
    const double value = w[j] + t * step_[j], move = step_[j];
    if (move == 0.0) continue;
    const double side = value != 0.0 ? value : (t == 0.0 ? move : -move);
    slope += (penalties.l2[j] * value + std::copysign(penalties.l1[j], side)) * move;
  }
  return std::isnan(slope) ? std::numeric_limits<double>::infinity() : slope;
}

/// Whether the objective at t is no higher than at 0, up to rounding.
bool PathOnCurves::falls(const LogisticRows& rows, Penalties penalties, std::span<const double> w,
                         double t) {
  const Weights weights{penalties.l1, penalties.l2};
  std::vector<double> there(w.size());
  for (std::size_t j = 0; j < w.size(); ++j) there[j] = w[j] + t * step_[j];
  logistic_terms(z_, rows.y, value_, gradient_, curvature_);
  const double before = sum_of(value_, rows.mass);
  for (std::size_t i = 0; i < z_.size(); ++i) moved_[i] = z_[i] + t * along_[i];
  logistic_terms(moved_, rows.y, value_, gradient_, curvature_);
  const double change = separable_value(weights, there) - separable_value(weights, w) +
                        (sum_of(value_, rows.mass) - before);
  return change <= kRounding * std::fabs(before);
}

/// How far along the step: all of it if the objective still falls there, or nearly; else about
/// where its slope changes its sign. Zero if there is no descent.
double PathOnCurves::line_search(const LogisticRows& rows, Penalties penalties,
                                 std::span<const double> w) {
  const double first = slope_at(rows, penalties, w, 0.0);
  if (!(first < 0.0)) return 0.0;
  double low = 0.0, slope_low = first, t = 1.0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const double slope = slope_at(rows, penalties, w, t);
    if (slope <= 0.0) return t;
    if (slope <= -kFlat * first && falls(rows, penalties, w, t)) return t;
    const double high = t, width = high - low;
    const double secant =
        std::isfinite(slope) ? low - slope_low * width / (slope - slope_low) : 0.0;
    const bool good = low + kInside * width < secant && secant < high - kInside * width;
    t = good ? secant : 0.5 * (low + high);
    if (t <= kEpsilon) return 0.0;
  }
  return 0.0;
}

template std::size_t PathOnCurves::solve(const DenseMatrix<float>&, const LogisticRows&,
                                         const OlderCurvature&, const PathGrid&, std::size_t, bool,
                                         const CurveGoal&);
template std::size_t PathOnCurves::solve(const DenseMatrix<double>&, const LogisticRows&,
                                         const OlderCurvature&, const PathGrid&, std::size_t, bool,
                                         const CurveGoal&);

}  // namespace minimand
