#include "scalar/separable.hpp"

#include <limits>

#include "common/lanes.hpp"
#include "common/targets.hpp"

namespace minimand {

// External linkage: the loader resolves these names to the clone for this processor.
double separable_value_of(Weights weights, std::span<const double> w);
void separable_young_of(Weights weights, std::span<const double> w, std::span<const double> v,
                        std::span<double> result);
double least_ratio(std::span<const double> v, std::span<const double> limit);

namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;  // the sign bit; definition
constexpr double kInfinity = std::numeric_limits<double>::infinity();

MINIMAND_INLINE Lanes absolute(Lanes x) { return lanes_of(bits_of(x) & ~kSign); }

MINIMAND_INLINE Lanes with_sign_of(Lanes size, Lanes x) {
  return lanes_of(bits_of(size) | (bits_of(x) & kSign));
}

/// max(x, 0), and NaN for NaN.
MINIMAND_INLINE Lanes positive_part(Lanes x) { return select(x <= Lanes{}, Lanes{}, x); }

/// A weight of zero gives a term of zero, also if the coefficient is infinite.
MINIMAND_INLINE Lanes value_of(Lanes l1, Lanes l2, Lanes w) {
  const Lanes zero = {};
  const Lanes linear = select(l1 > zero, l1 * absolute(w), zero);
  return linear + select(l2 > zero, 0.5 * l2 * w * w, zero);
}

/// With c = soft(v, l1), the slope that is left for the quadratic part, the term is
/// (c - l2 w)^2 / (2 l2) + |w| (l1 - sign(w) (v - c)): two parts that are never negative.
MINIMAND_INLINE Lanes young_of(Lanes l1, Lanes l2, Lanes w, Lanes v) {
  const Lanes zero = {};
  const Lanes size = absolute(v);
  const auto inside = size <= l1;
  const auto curved = l2 > zero;
  const Lanes clipped = select(inside, v, with_sign_of(l1, v));
  const Lanes along = lanes_of(bits_of(clipped) ^ (bits_of(w) & kSign));
  const Lanes left = with_sign_of(positive_part(size - l1), v) - l2 * w;
  const Lanes parabola = 0.5 * left * left / select(curved, l2, same_lanes(1.0));
  const Lanes wall = select(inside, zero, same_lanes(kInfinity));
  return select(curved, parabola, wall) + positive_part(absolute(w) * (l1 - along));
}

MINIMAND_INLINE Lanes ratio_of(Lanes v, Lanes limit) {
  const Lanes size = absolute(v);
  const auto over = size > limit;
  return select(over, limit / select(over, size, same_lanes(1.0)), same_lanes(1.0));
}

MINIMAND_INLINE Lanes smaller(Lanes a, Lanes b) { return select(a < b, a, b); }

}  // namespace

MINIMAND_CLONES double separable_value_of(Weights weights, std::span<const double> w) {
  const double* l1 = weights.l1.data();
  const double* l2 = weights.l2.data();
  const double* at = w.data();
  const std::size_t n = w.size();
  Lanes sum0 = {}, sum1 = {};
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const std::size_t j = i + kLanes;
    sum0 += value_of(load_lanes(l1 + i), load_lanes(l2 + i), load_lanes(at + i));
    sum1 += value_of(load_lanes(l1 + j), load_lanes(l2 + j), load_lanes(at + j));
  }
  for (; i < n; i += kLanes) {
    const std::size_t count = n - i < kLanes ? n - i : kLanes;
    sum0 += value_of(load_some(l1 + i, count), load_some(l2 + i, count), load_some(at + i, count));
  }
  return sum_lanes(sum0 + sum1);
}

MINIMAND_CLONES void separable_young_of(Weights weights, std::span<const double> w,
                                        std::span<const double> v, std::span<double> result) {
  const double* l1 = weights.l1.data();
  const double* l2 = weights.l2.data();
  const double* at = w.data();
  const double* slope = v.data();
  double* to = result.data();
  const std::size_t n = w.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store_lanes(to + i, young_of(load_lanes(l1 + i), load_lanes(l2 + i), load_lanes(at + i),
                                 load_lanes(slope + i)));
  }
  const std::size_t rest = n - i;
  store_some(to + i,
             young_of(load_some(l1 + i, rest), load_some(l2 + i, rest), load_some(at + i, rest),
                      load_some(slope + i, rest)),
             rest);
}

MINIMAND_CLONES double least_ratio(std::span<const double> v, std::span<const double> limit) {
  const double* from = v.data();
  const double* most = limit.data();
  const std::size_t n = v.size();
  Lanes least = same_lanes(1.0);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    least = smaller(ratio_of(load_lanes(from + i), load_lanes(most + i)), least);
  }
  least = smaller(ratio_of(load_some(from + i, n - i), load_some(most + i, n - i)), least);
  double result = least[0];
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    if (least[lane] < result) result = least[lane];
  }
  return result;
}

double separable_value(Weights weights, std::span<const double> w) {
  return separable_value_of(weights, w);
}

void separable_young(Weights weights, std::span<const double> w, std::span<const double> v,
                     std::span<double> result) {
  separable_young_of(weights, w, v, result);
}

double largest_scale(std::span<const double> v, std::span<const double> limit) {
  const double least = least_ratio(v, limit);
  return least < 1.0 ? least * (1.0 - 1e-15) : 1.0;  // factor; safeguard
}

}  // namespace minimand
