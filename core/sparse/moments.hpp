#pragma once

#include "sparse/compressed.hpp"

namespace minimand {

/// Per major index: sum of h x and of h x^2, with h indexed by the minor axis.
template <class Scalar, class Index>
void moments_major(const Compressed<Scalar, Index>& matrix, std::span<const double> h,
                   std::span<double> first, std::span<double> second);

/// Per minor index: sum of h x and of h x^2, with h indexed by the major axis.
template <class Scalar, class Index>
void moments_minor(const Compressed<Scalar, Index>& matrix, std::span<const double> h,
                   std::span<double> first, std::span<double> second);

}  // namespace minimand
