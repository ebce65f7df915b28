#pragma once

#include <limits>

#include "scalar/exponential.hpp"
#include "scalar/logarithm.hpp"

namespace minimand {

/// q log(q / p) for q >= 0, given log p, p itself and difference = q - p.
///
/// Near p the logarithm of the ratio is taken through the relative difference, which keeps the
/// digits that log q - log p would cancel.
MINIMAND_INLINE Lanes times_log_ratio(Lanes q, Lanes difference, Lanes p, Lanes log_p) {
  const Lanes zero = {};
  const Lanes one = same_lanes(1.0);
  const Lanes half = 0.5 * p;
  const auto close = (difference <= half) & (difference >= -half) & (p > zero);
  const Lanes near = log_one_plus(select(close, difference / select(p > zero, p, one), zero));
  const Lanes far = logarithm(select(q > zero, q, one)) - log_p;
  return select(q > zero, q * select(close, near, far), zero);
}

/// The divergence of the Bernoulli law q from p = 1/(1 + e^-z), in terms of e^-|z| <= 1 only.
MINIMAND_INLINE Lanes binary_relative_entropy(Lanes q, Lanes z) {
  constexpr std::uint64_t kSign = std::uint64_t{1} << 63;  // the sign bit; definition
  const Lanes zero = {};
  const Lanes one = same_lanes(1.0);
  const auto inside = (q >= zero) & (q <= one);
  q = select(inside, q, same_lanes(0.5));
  // Mirror so that z <= 0: then p is the small probability and is known to full accuracy.
  const auto positive = z > zero;
  const Lanes small = select(positive, one - q, q);
  const Lanes large = select(positive, q, one - q);
  const Lanes minus_size = lanes_of(bits_of(z) | kSign);
  const Lanes e = exponential(minus_size);
  const Lanes log_sum = log_one_plus_fraction(e);
  const Lanes p = e / (1.0 + e);
  const Lanes difference = small - p;
  const Lanes terms = times_log_ratio(small, difference, p, minus_size - log_sum) +
                      times_log_ratio(large, -difference, 1.0 / (1.0 + e), -log_sum);
  const Lanes divergence = select(terms > zero, terms, zero);
  return select(inside, divergence, same_lanes(std::numeric_limits<double>::infinity()));
}

}  // namespace minimand
