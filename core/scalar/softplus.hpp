#pragma once

#include <cmath>
#include <limits>

#include "scalar/exponential.hpp"
#include "scalar/logarithm.hpp"
#include "scalar/pieces.hpp"

namespace minimand {

/// psi(t) = log(1 + e^-t), whose slopes lie between -1 and 0.
///
/// Only e^-|t| <= 1 ever appears, so nothing overflows and slopes near zero keep their digits.
struct Softplus {
  /// Any number of threads may share a sweep: they need about as many sweeps as one thread.
  std::size_t most_threads() const { return std::numeric_limits<std::size_t>::max(); }

  /// Parts of a sweep after each of which the gap is checked: two, since the gap falls steadily.
  static constexpr int kParts = 2;  // safeguard

  /// psi', psi'' and psi''' at a point, or at one point a lane.
  struct Derivatives {
    double slope, bend, twist;
  };
  struct LaneDerivatives {
    Lanes slope, bend, twist;
  };

  /// Without a branch: the sign of t is unpredictable, and a wrong prediction costs more than this.
  MINIMAND_INLINE static LaneDerivatives lane_derivatives(Lanes t) {
    const Lanes zero = {};
    const Lanes e = exponential(lanes_of(bits_of(t) | (std::uint64_t{1} << 63)));
    const Lanes large = 1.0 / (1.0 + e), small = e * large, bend = small * large;
    const Lanes minus_slope = select(t < zero, large, small);
    return {-minus_slope, bend, bend * (2.0 * minus_slope - 1.0)};
  }

  MINIMAND_INLINE static Derivatives derivatives(double t) {
    const LaneDerivatives found = lane_derivatives(same_lanes(t));
    return {found.slope[0], found.bend[0], found.twist[0]};
  }

  MINIMAND_INLINE double slope(double t) const { return derivatives(t).slope; }

  /// No row has room: psi is curved everywhere.
  MINIMAND_INLINE double room(double) const { return 0.0; }

  /// The terms left after a sweep that met `met`, the sweep before it `before`. A step makes the
  /// term of its row zero, and the steps of later rows make it positive again: at the end of a
  /// sweep about half of each term is left, and less if the terms fall fast. (Measured: a share of
  /// 0.13 where the terms fall to 0.08 from sweep to sweep, 0.48 where they fall to 0.64.)
  MINIMAND_INLINE static double remaining(double met, double before) {
    double ratio = before > 0.0 && met < before ? met / before : 1.0;
    if (ratio < kSteepest) ratio = kSteepest;  // after a poor start the first ratio is too small
    return met * std::sqrt(ratio) * (0.5 + 0.25 * ratio);
  }

  /// The part of the gap due to sum_i mass_i sign_i v_i != 0: all v have to move a little, in
  /// proportion to psi''.
  static double cost_of(double total, double, std::span<const double> mass,
                        std::span<const double> v) {
    double bend = 0.0;
    for (std::size_t i = 0; i < v.size(); ++i) bend -= mass[i] * v[i] * (1.0 + v[i]);
    return total == 0.0 ? 0.0 : 0.5 * total * total / bend;
  }

  /// The step of a dual variable v: the root s of (s - t) + step (psi'(s) - v) = 0, to a thousandth
  /// of the step length at least, and to all digits as the step becomes short.
  ///
  /// After a short step of Halley's method psi' comes from its Taylor series, so that a row that
  /// has nearly converged costs one exponential.
  MINIMAND_INLINE DualStep dual_step(double t, double v, double step) const {
    const Derivatives here = derivatives(t);
    const double young = young_estimate(here, v);
    const double miss = step * (here.slope - v), rate = 1.0 + step * here.bend;
    const double move = -miss * rate / (rate * rate - 0.5 * miss * step * here.twist);
    const double slope = moved_slope(here, move);
    if (miss * miss <= kNear * rate && slope <= 0.0 && slope >= -1.0) {
      return {t + move, slope, young};
    }
    return far_step(t, v, step, here, young);
  }

  static constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  // Largest (step^2 * rate of convergence) for the Taylor series: psi' is then known to a
  // thousandth of its change; safeguard.
  static constexpr double kNear = 0x1p-8;
  static constexpr double kStiff = 8.0;      // step; above, start where psi' is v; safeguard
  static constexpr int kRounds = 200;        // iterations; safeguard
  static constexpr double kSteepest = 0.05;  // least ratio of terms of two sweeps; safeguard

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  MINIMAND_INLINE static double moved_slope(const Derivatives& from, double move) {
    return from.slope + move * (from.bend + 0.5 * move * from.twist);
  }

  /// The root lies between t and the point where psi' is v; steps stay in the bracket given by the
  /// signs of the residuals. Not inlined, because it is rare and long.
  [[gnu::noinline]] static DualStep far_step(double t, double v, double step, Derivatives here,
                                             double young) {
    double s = t, low = -kInfinity, high = kInfinity;
    (here.slope > v ? high : low) = t;
    if (step > kStiff && v < 0.0 && v > -1.0) {
      s = from_slope(t, v, step);
      here = derivatives(s);
    }
    for (int round = 0; round < kRounds; ++round) {
      const double miss = (s - t) + step * (here.slope - v);
      (miss > 0.0 ? high : low) = s;
      const double rate = 1.0 + step * here.bend, newton = miss / rate;
      const double twist = 0.5 * newton * (step * here.twist / rate);
      double next = s - newton / (1.0 - (twist < 0.5 ? twist : 0.5));
      if (!(next > low)) next = 0.5 * (s + low);
      if (!(next < high)) next = 0.5 * (s + high);
      const double move = next - s;
      if (move * move * rate <= kNear || std::abs(move) <= 4.0 * kEpsilon * std::abs(s)) {
        const double slope = moved_slope(here, move);
        return slope <= 0.0 && slope >= -1.0 ? DualStep{next, slope, young} : DualStep{t, v, young};
      }
      s = next;
      here = derivatives(s);
    }
    return {t, v, young};  // after an overflow the variable is not changed
  }

  /// Newton's step from where psi' is v, which needs a logarithm but no exponential.
  MINIMAND_INLINE static double from_slope(double t, double v, double step) {
    const Lanes odds = same_lanes((1.0 + v) / -v);
    const double at = odds[0] < kInfinity ? logarithm(odds)[0] : t;
    return at + (t - at) / (1.0 - step * v * (1.0 + v));
  }

  /// psi(t) + psi*(v) - v t = (psi'(t) - v)^2 / (2 psi''(somewhere between)): here with the mean of
  /// psi'' at both ends, so that it is exact to second order where it is small.
  MINIMAND_INLINE static double young_estimate(const Derivatives& at, double v) {
    const double miss = at.slope - v, bends = at.bend - v * (1.0 + v);
    return bends > 0.0 ? miss * miss / bends : std::abs(miss);
  }
};

}  // namespace minimand
