#pragma once

#include "sparse/compressed.hpp"

namespace minimand {

/// G = sum_i h_i r_i r_i', with r_i row i restricted to the columns whose slot is not negative.
/// `gram` is square of side `side`, row by row.
template <class Scalar, class Index, class Slot>
void gram_minor(const Compressed<Scalar, Index>& rows, std::span<const double> h,
                std::span<const Slot> slot, std::size_t side, std::span<double> gram);

/// G[a, b] = sum_i h_i x_ia x_ib over the major vectors a, b listed in `chosen`.
template <class Scalar, class Index>
void gram_major(const Compressed<Scalar, Index>& columns, std::span<const double> h,
                std::span<const std::int64_t> chosen, std::span<double> gram);

}  // namespace minimand
