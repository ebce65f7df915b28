#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "dual/rows.hpp"
#include "targets.hpp"

namespace minimand {

/// A small generator of random numbers (xorshift64*).
struct Shuffler {
  std::uint64_t state;

  MINIMAND_INLINE std::uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1DULL;
  }
  /// A number below `limit`, which fits in 32 bits.
  MINIMAND_INLINE std::size_t below(std::size_t limit) {
    return static_cast<std::size_t>(((next() >> 32) * limit) >> 32);
  }
};

/// Ascent over any kind of rows: Rows has dot(i, w), add(i, scale, w) and fetch(i).
template <class Rows>
struct DualAscent {
  Rows rows;
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
    const Pieces& psi = problem.pieces;
    const double sign = problem.sign.data()[i];
    const double mass = problem.mass.data()[i];
    const double t = sign * (rows.dot(i, state.w) + state.b) - problem.shift.data()[i];
    double& v = state.v.data()[i];
    const double curvature = mass * (problem.squares.data()[i] + state.bias);
    if (!(curvature > 0.0)) {  // nothing depends on this row
      v = psi.slope(t);
      return {0.0, std::numeric_limits<double>::infinity(), 0.0};
    }
    const double goal = t + curvature * v;
    const SlopeAt found = psi.slope_after(goal, curvature);
    const double delta = found.slope - v;
    if (delta == 0.0) return {0.0, psi.room(found.at), 0.0};
    const double gap = mass * psi.young(t, v);
    v = found.slope;
    const double scale = -mass * sign * delta;
    rows.add(i, scale, state.w);
    state.b += state.bias * scale;
    total -= scale;
    return {std::abs(found.at - t), 0.0, gap};
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
    std::uint32_t* active = state.order.data();
    auto count = static_cast<std::size_t>(state.active);
    double threshold = state.threshold;
    DualReport report{state.b, state.bias, state.active, threshold, 0.0, kInfinity};
    total = last_total = first_total();
    double drift = 0.0;  // of the intercept since all rows were looked at
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      for (std::size_t k = count; k > 1; --k) {
        const std::size_t other = random.below(k);
        const std::uint32_t held = active[k - 1];
        active[k - 1] = active[other];
        active[other] = held;
      }
      report.sweeps += static_cast<double>(count) / static_cast<double>(n);
      double worst = 0.0, gap = 0.0;
      for (std::size_t k = 0; k < count;) {
        if (k + 2 < count) rows.fetch(active[k + 2]);
        const Step taken = step(active[k]);
        gap += taken.gap;
        if (taken.violation > worst) worst = taken.violation;
        if (taken.room > threshold) {
          --count;
          const std::uint32_t held = active[k];
          active[k] = active[count];
          active[count] = held;
        } else {
          ++k;
        }
      }
      const double move = recentre();
      if (problem.intercept) gap += problem.reach * std::abs(total);
      worst += move;
      report.gap = gap;
      drift = count == n ? 0.0 : drift + move;
      if (count == 0 || drift > threshold) count = n;
      threshold = worst > 0.0 ? worst : kInfinity;
      if (gap <= tolerance) {
        count = n;  // those that were skipped may have moved meanwhile: the next run will look
        break;
      }
    }
    report.b = state.b;
    report.bias = state.bias;
    report.active = static_cast<std::int64_t>(count);
    report.threshold = threshold;
    return report;
  }
};

}  // namespace minimand
