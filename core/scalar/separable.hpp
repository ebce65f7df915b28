#pragma once

#include <span>

namespace minimand {

/// A penalty that is a sum over coefficients, sum_j l1_j |w_j| + l2_j w_j^2 / 2; none is negative.
struct Weights {
  std::span<const double> l1;
  std::span<const double> l2;
};

/// The penalty itself.
double separable_value(Weights weights, std::span<const double> w);

/// Its Fenchel-Young terms: penalty(w_j) + conjugate(v_j) - v_j w_j >= 0, where nothing cancels.
void separable_young(Weights weights, std::span<const double> w, std::span<const double> v,
                     std::span<double> result);

/// The largest s <= 1 with s |v_j| <= limit_j, a few units in the last place smaller if it is
/// below 1, so that rounding cannot put s v outside again.
double largest_scale(std::span<const double> v, std::span<const double> limit);

}  // namespace minimand
