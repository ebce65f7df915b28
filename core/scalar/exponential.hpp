#pragma once

#include "common/wide_lanes.hpp"

namespace minimand {

/// e^x within one unit in the last place over the whole double range, without a branch.
///
/// x = n ln2 + r with |r| <= ln2/2, a Taylor polynomial for e^r, and 2^n in two factors, because
/// n alone may leave the range of exponents although the result does not.
template <class Vector>  // Lanes or WideLanes
MINIMAND_INLINE Vector exponential(Vector x) {
  typedef std::uint64_t Bits __attribute__((vector_size(sizeof(Vector))));
  constexpr double kLog2E = 0x1.71547652b82fep+0;  // definition
  // The high part has enough trailing zeros for n times it to be exact.
  constexpr double kLn2High = 0x1.62e42feep-1;       // definition
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;  // the rest; definition
  // Adding this rounds to an integer and leaves that integer in the low bits.
  constexpr double kRounder = 0x1.8p52;  // definition
  // Beyond these the result is infinite or zero. NaN stays.
  x = clamp(x, -746.0, 710.0);

  const Vector rounded = x * kLog2E + kRounder;
  const Vector n = rounded - kRounder;
  const Vector r = (x - n * kLn2High) - n * kLn2Low;

  // The polynomial is a tree rather than Horner's chain, whose latency would bound the speed.
  const Vector r2 = r * r;
  const Vector r4 = r2 * r2;
  const Vector p23 = 1.0 / 2.0 + r * (1.0 / 6.0);
  const Vector p45 = 1.0 / 24.0 + r * (1.0 / 120.0);
  const Vector p67 = 1.0 / 720.0 + r * (1.0 / 5040.0);
  const Vector p89 = 1.0 / 40320.0 + r * (1.0 / 362880.0);
  const Vector p1011 = 1.0 / 3628800.0 + r * (1.0 / 39916800.0);
  const Vector p1213 = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0);
  const Vector high = (p67 + r2 * p89) + r4 * (p1011 + r2 * p1213);
  const Vector p = (p23 + r2 * p45) + r4 * high;
  const Vector power = 1.0 + (r + r2 * p);

  constexpr std::uint64_t kBias = std::uint64_t{1023} << 52;  // of exponents; definition
  const Bits whole = (Bits)rounded;
  const Bits half = (Bits)(n * 0.5 + kRounder);
  const Vector scale = (Vector)((half << 52) + kBias);
  const Vector other_scale = (Vector)(((whole - half) << 52) + kBias);
  return (power * scale) * other_scale;
}

}  // namespace minimand
