#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "scalar/pieces.hpp"
#include "stochastic/models.hpp"

namespace minimand {

/// The kind of the loss, a function of t = sign (x.w + b) - shift.
enum class SlopeKind : std::int64_t { pieces, logistic, given };

/// The loss of single rows: its slope in t, and the gradient flow of t.
struct RowSlopes {
  SlopeKind kind;
  Pieces pieces;                  // of `pieces`; else anything
  std::span<const double> given;  // slopes found elsewhere, one per row and model
  bool left;                      // at a kink: the slope on the left, else the one nearest zero

  /// `place` is where the numbers of a row begin, in `given` as in sign and shift.
  template <class V>
  MINIMAND_INLINE V slope(std::size_t place, V t) const {
    if (kind == SlopeKind::logistic) return -1.0 / (1.0 + power_of_e(t));
    if (kind == SlopeKind::given) return load_models<V>(given.data() + place);
    return for_each_model(
        t, [&](double at, std::size_t) __attribute__((always_inline)) { return piece_slope(at); });
  }

  /// The losses of the rows at t; unknown for given slopes.
  template <class V>
  MINIMAND_INLINE V value(V t) const {
    if (kind == SlopeKind::given) return V{};
    return for_each_model(t, [&](double at, std::size_t) __attribute__((always_inline)) {
      if (kind == SlopeKind::pieces) return pieces.value(at);
      return std::log1p(std::exp(-std::abs(at))) + (at < 0.0 ? -at : 0.0);
    });
  }

  /// t at time `time` if dt/ds = -slope(t): the limit of many small steps, which cannot overshoot
  /// as one long step may. Given slopes are constant.
  template <class V>
  MINIMAND_INLINE V flow(std::size_t place, V t, V time) const {
    if (kind == SlopeKind::logistic) return logistic_flow(t, time);
    if (kind == SlopeKind::given) return t - time * load_models<V>(given.data() + place);
    double times[kModels<V>];
    store_models(times, time);
    return for_each_model(t, [&](double at, std::size_t m) __attribute__((always_inline)) {
      return times[m] > 0.0 ? pieces_flow(at, times[m]) : at;
    });
  }

 private:
  MINIMAND_INLINE double piece_slope(double t) const {
    const std::size_t k = pieces.piece_of(t);
    const double above = pieces.slope_in(k, t);
    if (k == 0 || t != pieces.knots.data()[k - 1]) return above;
    const double below = pieces.left.data()[k - 1];
    if (left) return below;
    return below > 0.0 ? below : above < 0.0 ? above : 0.0;
  }

  /// e^s - 1, with all its digits where s is small.
  template <class V>
  MINIMAND_INLINE static V growth(V s) {
    const V series = s * (1.0 + s * (1.0 / 2 + s * (1.0 / 6 + s * (1.0 / 24))));
    return magnitude(s) < 1e-3 ? series : power_of_e(s) - 1.0;
  }

  /// m' = 1 / (1 + e^m), so that m + e^m grows by `time`: a convex equation for the step s,
  ///   s + e (e^s - 1) = time,   e = e^m.
  /// Newton's method from the right of its root: with 1 + s + s^2/2 for e^s it is quadratic.
  template <class V>
  MINIMAND_INLINE static V logistic_flow(V m, V time) {
    const V e = power_of_e(m), slope = 1.0 + e;
    V step = 2.0 * time / (slope + root(slope * slope + 2.0 * e * time));
    if (greatest(step) > 1.0) step = not_too_far(step, e, time);
    for (int round = 0; round < 30; ++round) {
      const V grown = growth(step);
      const V change = (step + e * grown - time) / (slope + e * grown);
      const V known = step > 0.0 ? change : V{};  // without a slope e may be infinite
      step -= known;
      if (!(greatest(magnitude(known) - 1e-12 * (1.0 + step)) > 0.0)) break;
    }
    return m + step;
  }

  /// An upper bound for long steps: where e e^s alone equals the time.
  template <class V>
  MINIMAND_INLINE static V not_too_far(V step, V e, V time) {
    double steps[kModels<V>], times[kModels<V>];
    store_models(steps, step);
    store_models(times, time);
    return for_each_model(e, [&](double at, std::size_t m) __attribute__((always_inline)) {
      return steps[m] > 1.0 ? std::fmin(steps[m], std::log1p(times[m] / at)) : steps[m];
    });
  }

  /// Linear in time on linear pieces, exponential on curved ones; constant at the minimum.
  /// Not inlined: eight copies in every kernel would not be faster.
  [[gnu::noinline]] double pieces_flow(double t, double time) const {
    for (std::size_t crossed = 0; crossed <= pieces.count() + 1; ++crossed) {
      std::size_t k = pieces.piece_of(t);
      const double above = pieces.slope(t), below = pieces.slope_left(t);
      if (below <= 0.0 && above >= 0.0) return t;
      const bool right = above < 0.0;
      const double slope = right ? above : below;
      if (!right && k > 0 && t == pieces.knots.data()[k - 1]) --k;
      const double bend = pieces.curvatures.data()[k];
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      const double end = right ? (k < pieces.count() ? pieces.knots.data()[k] : kInfinity)
                               : (k > 0 ? pieces.knots.data()[k - 1] : -kInfinity);
      const double reached =
          bend > 0.0 ? t + slope / bend * std::expm1(-bend * time) : t - slope * time;
      if (right ? reached < end : reached > end) return reached;
      const double share = bend * (end - t) / slope;  // in (-1, 0]: what the approach has covered
      time -= bend > 0.0 ? -std::log1p(share) / bend : (t - end) / slope;
      t = end;
      if (!(time > 0.0)) return t;
    }
    return t;
  }
};

}  // namespace minimand
