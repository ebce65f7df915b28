#pragma once

#include <span>

#include "scalar/exponential.hpp"

namespace minimand {

/// E(x) = e^x - 1 - x, E'(x) = e^x - 1 and e^x, each to about full relative accuracy.
struct Excess {
  Lanes value, slope, whole;

  MINIMAND_INLINE explicit Excess(Lanes x) {
    whole = exponential(x);
    const auto near = (x < same_lanes(kNear)) & (x > same_lanes(-kNear));
    const Lanes r = select(near, x, Lanes{});
    // The terms of the Taylor series from x^2/2 to x^15/15!, as a tree.
    const Lanes r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    const Lanes p2 = (1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0));
    const Lanes p6 =
        (1.0 / 720.0 + r * (1.0 / 5040.0)) + r2 * (1.0 / 40320.0 + r * (1.0 / 362880.0));
    const Lanes p10 = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) +
                      r2 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
    const Lanes p14 = 1.0 / 87178291200.0 + r * (1.0 / 1307674368000.0);
    const Lanes sum = r2 * ((p2 + r4 * p6) + r8 * (p10 + r4 * p14));
    slope = select(near, sum + r, whole - 1.0);
    value = select(near, sum, slope - x);
  }

  static constexpr double kNear =
      0.5;  // |x|, up to which the series is exact to rounding; safeguard
};

/// size_i phi(t) with phi(t) = E(-a t) / a + E(b t) / b, E(x) = e^x - 1 - x, a + b = 1, a term
/// whose a or b is 0 being 0; where single_i is not 0, size_i e^{b t} / b. Half deviances with the
/// log link are of this form.
struct Exponentials {
  double a;
  std::span<const double> size, single;  // per row

  struct Terms {
    Lanes value, slope, bend;
  };

  MINIMAND_INLINE Terms terms(Lanes t, Lanes size, Lanes single) const {
    const Lanes zero = {};
    const double b = 1.0 - a;
    Terms both{zero, zero, zero}, alone{zero, zero, zero};
    if (b > 0.0) {
      const Excess rise(b * t);
      both = {rise.value / b, rise.slope, b * rise.whole};
      alone = {rise.whole / b, rise.whole, b * rise.whole};
    }
    if (a > 0.0) {
      const Excess fall(-a * t);
      both = {both.value + fall.value / a, both.slope - fall.slope, both.bend + a * fall.whole};
    }
    const auto one = single > zero;
    return {size * select(one, alone.value, both.value),
            size * select(one, alone.slope, both.slope), size * select(one, alone.bend, both.bend)};
  }
};

}  // namespace minimand
