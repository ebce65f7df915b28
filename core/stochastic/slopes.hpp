#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "scalar/pieces.hpp"
#include "targets.hpp"

namespace minimand {

/// Which function of t = sign (x.w + b) - shift a row pays.
enum class SlopeKind : std::int64_t { pieces, logistic, given };

/// The loss of single rows: its slope in t, and where t flows when it follows that slope.
struct RowSlopes {
  SlopeKind kind;
  Pieces pieces;                  // of `pieces`; else anything
  std::span<const double> given;  // slopes found elsewhere, one per row
  bool left;                      // at a kink: the slope on the left, else the one nearest zero

  MINIMAND_INLINE double slope(std::size_t i, double t) const {
    if (kind == SlopeKind::logistic) return t < -700.0 ? -1.0 : -1.0 / (1.0 + std::exp(t));
    if (kind == SlopeKind::given) return given.data()[i];
    const double below = pieces.slope_left(t);
    if (left) return below;
    const double above = pieces.slope(t);
    return below > 0.0 ? below : above < 0.0 ? above : 0.0;
  }

  /// Where t is at time `time` if dt/ds = -slope(t): many small steps, whose number does not
  /// matter, instead of one long one that may overshoot. Given slopes stay as they are.
  MINIMAND_INLINE double flow(std::size_t i, double t, double time) const {
    if (kind == SlopeKind::logistic) return logistic_flow(t, time);
    if (kind == SlopeKind::given) return t - time * given.data()[i];
    return pieces_flow(t, time);
  }

 private:
  /// m' = 1 / (1 + e^m), so m + e^m grows by `time`: Newton from the right on a convex function.
  MINIMAND_INLINE static double logistic_flow(double m, double time) {
    if (m > 30.0) return m + time * std::exp(-m);
    const double e = std::exp(m < -700.0 ? -700.0 : m);
    double step = time / (1.0 + e);
    if (step > 1.0) step = std::fmin(step, std::log1p(time / e));
    for (int round = 0; round < 30; ++round) {
      const double grown = std::expm1(step);
      const double change = (step + e * grown - time) / (1.0 + e + e * grown);
      step -= change;
      if (std::abs(change) <= 1e-12 * (1.0 + step)) break;
    }
    return m + step;
  }

  /// Straight on linear pieces, an exponential approach on curved ones; it rests at the minimum.
  MINIMAND_INLINE double pieces_flow(double t, double time) const {
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
