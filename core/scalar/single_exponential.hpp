#pragma once

#include "common/lanes.hpp"

namespace minimand {

/// Short vectors of floats, as long as a register of the target.
inline constexpr std::size_t kSingles = MINIMAND_VECTOR_BYTES / sizeof(float);
typedef float Singles __attribute__((vector_size(kSingles * sizeof(float))));
typedef std::uint32_t SingleBits __attribute__((vector_size(kSingles * sizeof(float))));

MINIMAND_INLINE Singles load_singles(const float* source) {
  Singles values;
  __builtin_memcpy(&values, source, sizeof values);
  return values;
}

MINIMAND_INLINE void store_singles(float* target, Singles values) {
  __builtin_memcpy(target, &values, sizeof values);
}

/// e^x for x <= 0 within two units in the last place of float32, without a branch; 0 below the
/// least normal number. As `exponential`, with a shorter polynomial.
MINIMAND_INLINE Singles exponential_below_one(Singles x) {
  constexpr float kLog2E = 0x1.715476p+0f;  // definition
  // The high part has enough trailing zeros for n times it to be exact.
  constexpr float kLn2High = 0x1.63p-1f;       // definition
  constexpr float kLn2Low = -0x1.bd0106p-13f;  // the rest; definition
  // Adding this rounds to an integer and leaves that integer in the low bits.
  constexpr float kRounder = 0x1.8p23f;  // definition
  constexpr float kLeast = -87.3f;       // e^x is a normal number above it; definition

  const Singles zero = {};
  const auto vanishes = x < kLeast;
  x = vanishes ? zero : x;
  const Singles rounded = x * kLog2E + kRounder;
  const Singles n = rounded - kRounder;
  const Singles r = (x - n * kLn2High) - n * kLn2Low;
  const Singles r2 = r * r;
  const Singles p23 = 1.0f / 2.0f + r * (1.0f / 6.0f);
  const Singles p45 = 1.0f / 24.0f + r * (1.0f / 120.0f);
  const Singles p67 = 1.0f / 720.0f + r * (1.0f / 5040.0f);
  const Singles power = 1.0f + (r + r2 * (p23 + r2 * (p45 + r2 * p67)));
  const SingleBits scale = ((SingleBits)rounded << 23) + (std::uint32_t{127} << 23);
  return vanishes ? zero : power * (Singles)scale;
}

}  // namespace minimand
