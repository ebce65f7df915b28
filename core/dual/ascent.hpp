#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "dual/order.hpp"
#include "dual/rows.hpp"
#include "targets.hpp"

namespace minimand {

inline constexpr std::size_t kAhead = 4;  // rows between the one fetched and the one worked on

/// Ascent over any kind of rows, for any psi: Rows has dot(i, w), add(i, scale, w) and fetch(i),
/// Psi has slope(t), dual_step(t, v, step), room(t) and remaining(met, before).
template <class Rows, class Psi>
struct DualAscent {
  Rows rows;
  Psi psi;
  DualProblem problem;
  DualState state;

  double total = 0.0;  // sum_i mass_i sign_i v_i, which a free intercept wants to vanish
  double last_total = 0.0;

  struct Step {
    double violation;
    double room;  // how far t may move before this row matters again
    double gap;   // the Fenchel-Young term of the row before the step
  };

  MINIMAND_INLINE Step step(std::size_t i) {
    const double sign = problem.sign.data()[i];
    const double mass = problem.mass.data()[i];
    const double t = sign * (rows.dot(i, state.w) + state.b) - problem.shift.data()[i];
    double& v = state.v.data()[i];
    const double curvature = mass * (problem.squares.data()[i] + state.bias);
    if (!(curvature > 0.0)) {  // nothing depends on this row
      v = psi.slope(t);
      return {0.0, std::numeric_limits<double>::infinity(), 0.0};
    }
    const DualStep found = psi.dual_step(t, v, curvature);
    const double delta = found.slope - v;
    if (delta == 0.0) return {0.0, psi.room(found.at), 0.0};
    v = found.slope;
    const double scale = -mass * sign * delta;
    rows.add(i, scale, state.w);
    state.b += state.bias * scale;
    total -= scale;
    return {std::abs(found.at - t), 0.0, mass * found.young};
  }

  MINIMAND_INLINE double first_total() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < state.v.size(); ++i) {
      sum += problem.mass.data()[i] * problem.sign.data()[i] * state.v.data()[i];
    }
    return sum;
  }

  /// Moves the centre of the intercept to where it is: the method of multipliers for total = 0.
  /// Its step grows while the sum falls slowly, and shrinks when the sum changes sign.
  MINIMAND_INLINE double recentre() {
    if (!problem.intercept) return 0.0;
    if (total * last_total < 0.0) {
      state.bias *= 0.5;
    } else if (std::abs(total) > 0.5 * std::abs(last_total)) {
      state.bias *= 1.5;
    }
    last_total = total;
    const double move = state.bias * total;
    state.b -= move;
    return std::abs(move);
  }

  /// Sweeps until the terms of the gap that were met on the way add up to the tolerance.
  MINIMAND_INLINE DualReport run(std::int64_t epochs, double tolerance, Shuffler random) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::size_t n = state.order.size();
    VisitingOrder order(state.order, static_cast<std::size_t>(state.active));
    std::vector<std::uint8_t> skip(state.v.size());
    double threshold = state.threshold;
    DualReport report{state.b, state.bias, state.active, threshold, 0.0, kInfinity};
    total = last_total = first_total();
    double met_before = 0.0;
    double drift = 0.0;  // of the intercept since all rows were looked at
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      const std::span<const std::uint32_t> rows_now = order.shuffled(random);
      report.sweeps += static_cast<double>(rows_now.size()) / static_cast<double>(n);
      double worst = 0.0, met = 0.0;
      bool any = false;
      for (std::size_t k = 0; k < rows_now.size(); ++k) {
        if (k + kAhead < rows_now.size()) rows.fetch(rows_now.data()[k + kAhead]);
        const std::uint32_t row = rows_now.data()[k];
        const Step taken = step(row);
        met += taken.gap;
        if (taken.violation > worst) worst = taken.violation;
        skip.data()[row] = taken.room > threshold;
        any = any || taken.room > threshold;
      }
      if (any) order.keep([&skip](std::uint32_t row) { return skip[row] != 0; });
      const double move = recentre();
      double gap = psi.remaining(met, met_before);
      met_before = met;
      if (problem.intercept) gap += problem.reach * std::abs(total);
      worst += move;
      report.gap = gap;
      drift = order.count() == n ? 0.0 : drift + move;
      if (order.count() == 0 || drift > threshold) order.visit_all();
      threshold = worst > 0.0 ? worst : kInfinity;
      if (gap <= tolerance) {
        order.visit_all();  // those that were skipped may have moved: the next run will look
        break;
      }
    }
    report.b = state.b;
    report.bias = state.bias;
    report.active = static_cast<std::int64_t>(order.count());
    report.threshold = threshold;
    return report;
  }
};

}  // namespace minimand
