#pragma once

#include "dense/matrix.hpp"

namespace minimand {

// The loader resolves each of these functions to the clone for this processor. All arguments are
// whole vectors; the tile says which part of them is used.

/// out[l] += line_l . x over the tile's positions, for `width` vectors x and out one after the
/// other.
void add_line_dots(const DenseMatrix<float>& matrix, Tile tile, std::span<const double> x,
                   std::size_t width, std::span<double> out);
void add_line_dots(const DenseMatrix<double>& matrix, Tile tile, std::span<const double> x,
                   std::size_t width, std::span<double> out);

/// out[p] += sum_l x[l] line_l[p] over the tile's lines.
void add_line_sums(const DenseMatrix<float>& matrix, Tile tile, std::span<const double> x,
                   std::span<double> out);
void add_line_sums(const DenseMatrix<double>& matrix, Tile tile, std::span<const double> x,
                   std::span<double> out);

}  // namespace minimand
