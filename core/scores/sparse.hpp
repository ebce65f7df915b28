#pragma once

#include <cstddef>
#include <span>

#include "sparse/compressed.hpp"

// Products of a compressed matrix with several vectors at once, the columns of a C-ordered table.
namespace minimand {

/// y (majors, width): y_m = sum_k value_k x_{index_k}.
template <class Scalar, class Index>
void gather_wide(const Compressed<Scalar, Index>& matrix, std::span<const double> x,
                 std::size_t width, std::span<double> y);

/// y (minors, width): y_{index_k} += value_k x_m.
template <class Scalar, class Index>
void scatter_wide(const Compressed<Scalar, Index>& matrix, std::span<const double> x,
                  std::size_t width, std::span<double> y);

/// Curvature of every row in its scores: scale (diag(p) - p p').
struct Simplex {
  std::span<const double> p;      // (rows, width)
  std::span<const double> scale;  // (rows,)
};

/// g = [X 1]' S [X 1] v in one pass over the rows of a CSR: v and g have a row for every column,
/// and a last one for the intercepts. T is the precision; float needs a matrix of floats.
template <class T, class Scalar, class Index>
void simplex_product(const Compressed<Scalar, Index>& rows, std::span<const double> v,
                     std::size_t width, Simplex curvature, std::span<double> g);

}  // namespace minimand
