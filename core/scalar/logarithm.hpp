#pragma once

#include <limits>

#include "common/lanes.hpp"

namespace minimand {

/// scale ln2 + log(1 + f) + correction, for sqrt(1/2) - 1 <= f <= sqrt(2) - 1.
///
/// log(1 + f) = 2 atanh(s) with s = f / (2 + f); the coefficients are the minimax polynomial of
/// Sun's fdlibm, and so is the order of the sums, which keeps the error below one unit in the last
/// place.
MINIMAND_INLINE Lanes reduced_log(Lanes scale, Lanes f, Lanes correction) {
  constexpr double kLn2High = 0x1.62e42feep-1;       // as in `exponential`; definition
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;  // the rest of ln 2; definition
  const Lanes s = f / (2.0 + f);
  const Lanes z = s * s;
  const Lanes w = z * z;
  const Lanes p12 = 6.666666666666735130e-01 + z * 3.999999999940941908e-01;
  const Lanes p34 = 2.857142874366239149e-01 + z * 2.222219843214978396e-01;
  const Lanes p56 = 1.818357216161805012e-01 + z * 1.531383769920937332e-01;
  const Lanes p = (p12 + w * p34) + (w * w) * (p56 + w * 1.479819860511658591e-01);
  const Lanes half_square = 0.5 * f * f;
  const Lanes series = s * (half_square + z * p);
  return scale * kLn2High - ((half_square - (series + (scale * kLn2Low + correction))) - f);
}

/// log(1 + x) for x > -1 (-inf at -1, NaN below), without a branch.
MINIMAND_INLINE Lanes log_one_plus(Lanes x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;  // the bits of sqrt(1/2); definition
  constexpr std::uint64_t kBias = 1024;  // keeps the exponent positive; definition

  // 1 + x = 2^scale (1 + f) with f around zero; `lost` is what rounding took from 1 + x.
  const Lanes u = 1.0 + x;
  const LaneBits bits = bits_of(u);
  const LaneBits biased = (bits - kSqrtHalf + (kBias << 52)) >> 52;
  const Lanes mantissa = lanes_of(bits - ((biased - kBias) << 52));
  // The integer becomes the low bits of 2^52 + biased: no conversion instruction is needed.
  const Lanes scale = lanes_of(biased | 0x4330000000000000) - (0x1p52 + kBias);
  const Lanes lost = select(u > 2.0, 1.0 - (u - x), x - (u - 1.0));

  // Near zero x itself is f, exactly.
  const auto near_zero = (x > -0.29) & (x < 0.41);
  const Lanes zero = {};
  const Lanes result =
      reduced_log(select(near_zero, zero, scale), select(near_zero, x, mantissa - 1.0),
                  select(near_zero, zero, lost / u));

  const Lanes at_most = select(x == -1.0, same_lanes(-kInfinity), same_lanes(kNaN));
  const Lanes proper = select(x > -1.0, result, at_most);
  return select(x < kInfinity, proper, x);  // infinity and NaN are their own logarithms
}

/// log(x) for 0 < x < infinity, subnormal numbers included, without a branch.
MINIMAND_INLINE Lanes logarithm(Lanes x) {
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;  // the bits of sqrt(1/2); definition
  constexpr std::uint64_t kBias = 1024;  // keeps the exponent positive; definition
  const auto subnormal = x < 0x1p-1022;
  const Lanes u = select(subnormal, x * 0x1p54, x);
  const LaneBits bits = bits_of(u);
  const LaneBits biased = (bits - kSqrtHalf + (kBias << 52)) >> 52;
  const Lanes mantissa = lanes_of(bits - ((biased - kBias) << 52));
  const Lanes exponent = lanes_of(biased | 0x4330000000000000) - (0x1p52 + kBias);
  const Lanes zero = {};
  return reduced_log(select(subnormal, exponent - 54.0, exponent), mantissa - 1.0, zero);
}

/// log(1 + e) for 0 <= e <= 1, the part of log_one_plus that a logistic loss needs.
MINIMAND_INLINE Lanes log_one_plus_fraction(Lanes e) {
  const auto upper = e > 0.41;
  const Lanes zero = {};
  // (1 + e) = 2 (1 + (e - 1) / 2)
  return reduced_log(select(upper, same_lanes(1.0), zero), select(upper, 0.5 * (e - 1.0), e), zero);
}

}  // namespace minimand
