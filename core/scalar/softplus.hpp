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
  /// psi', psi'' and psi''' at a point.
  struct Derivatives {
    double slope, bend, twist;
  };

  MINIMAND_INLINE static Derivatives derivatives(double t) {
    const double e = exponential(same_lanes(-std::abs(t)))[0];
    const double large = 1.0 / (1.0 + e), small = e * large, bend = small * large;
    return t < 0.0 ? Derivatives{-large, bend, bend * (large - small)}
                   : Derivatives{-small, bend, bend * (small - large)};
  }

  MINIMAND_INLINE double slope(double t) const { return derivatives(t).slope; }

  /// No row has room: psi is curved everywhere.
  MINIMAND_INLINE double room(double) const { return 0.0; }

  /// The step of a dual variable v: the root s of (s - t) + step (psi'(s) - v) = 0.
  ///
  /// It lies between t and the point where psi' is v. Halley's steps stay in the bracket that the
  /// signs give; near the root of each psi', psi'' and psi''' say what is there without another
  /// exponential, so that a row which has all but settled costs one.
  MINIMAND_INLINE DualStep dual_step(double t, double v, double step) const {
    Derivatives here = derivatives(t);
    const double young = young_estimate(here, v);
    double s = t;
    double low = -kInfinity, high = kInfinity;
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
      if (std::abs(move) <= kNear + 4.0 * kEpsilon * std::abs(s)) {
        const double slope = here.slope + move * (here.bend + 0.5 * move * here.twist);
        return slope <= 0.0 && slope >= -1.0 ? DualStep{next, slope, young} : DualStep{t, v, young};
      }
      s = next;
      here = derivatives(s);
    }
    return {s, here.slope, young};
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  static constexpr double kNear = 0x1p-16;  // its cube is a unit in the last place
  static constexpr double kStiff = 8.0;     // from where v, not t, is near its new place
  static constexpr int kRounds = 200;

  /// Newton's step from where psi' is v, which needs a logarithm but no exponential.
  MINIMAND_INLINE static double from_slope(double t, double v, double step) {
    const Lanes odds = {(1.0 + v) / -v, 1.0, 1.0, 1.0};
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
