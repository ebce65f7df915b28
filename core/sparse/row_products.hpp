#pragma once

#include "sparse/compressed.hpp"

namespace minimand {

/// Adds the inner products of all pairs of rows to `result` (left x right, row by row). The right
/// matrix comes by its columns, of which there are as many as the left one has.
template <class Scalar, class Index>
void add_row_products(const Compressed<Scalar, Index>& left,
                      const Compressed<Scalar, Index>& right_columns, std::span<double> result);

}  // namespace minimand
