#pragma once

#include "sparse/compressed.hpp"

namespace minimand {

/// y[m] = sum_k values[k] x[indices[k]], for `width` interleaved vectors at once.
template <class Scalar, class Index>
void gather(const Compressed<Scalar, Index>& matrix, std::span<const double> x, std::size_t width,
            std::span<double> y);

/// The same of one vector, for some majors only.
template <class Scalar, class Index>
void gather_picked(const Compressed<Scalar, Index>& matrix, std::span<const std::int64_t> majors,
                   std::span<const double> x, std::span<double> y);

/// y[indices[k]] += values[k] x[m], for `width` interleaved vectors at once; y starts at zero.
template <class Scalar, class Index>
void scatter(const Compressed<Scalar, Index>& matrix, std::span<const double> x, std::size_t width,
             std::span<double> y);

/// The same of one vector, of some majors only, for each of which x has a number.
template <class Scalar, class Index>
void scatter_picked(const Compressed<Scalar, Index>& matrix, std::span<const std::int64_t> majors,
                    std::span<const double> x, std::span<double> y);

}  // namespace minimand
