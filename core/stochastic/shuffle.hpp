#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace minimand {

/// A random permutation: Fisher and Yates's, with 31 bits of Marsaglia's 32-bit xorshift. This is
/// how scikit-learn shuffles, so that a seed gives the same order in both.
inline void shuffle_rows(std::span<std::uint32_t> order, std::uint32_t seed) {
  if (seed == 0) seed = 1;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    const std::uint32_t draw = seed & 0x7fffffffU;
    std::swap(order[i], order[i + draw % (order.size() - i)]);
  }
}

}  // namespace minimand
