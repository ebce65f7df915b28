#pragma once

#include <span>

#include "scalar/exponential.hpp"

namespace minimand {

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

 private:
  static constexpr double kNear = 0.5;  // |x|, below which E is summed as a series; safeguard

  /// E(x), E'(x) = e^x - 1 and e^x, each to about full relative accuracy.
  struct Excess {
    Lanes value, slope, whole;

    MINIMAND_INLINE explicit Excess(Lanes x) {
      whole = exponential(x);
      const auto near = (x < same_lanes(kNear)) & (x > same_lanes(-kNear));
      const Lanes small = select(near, x, Lanes{});
      Lanes series = same_lanes(1.0);  // x^2/2 (1 + x/3 (1 + x/4 (1 + ...)))
      for (int n = 16; n > 2; --n) series = 1.0 + small * (1.0 / n) * series;
      const Lanes sum = 0.5 * small * small * series;
      slope = select(near, sum + small, whole - 1.0);
      value = select(near, sum, slope - x);
    }
  };
};

}  // namespace minimand
