#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The softmax of rows of k scores each; y holds the number of a class for every row. Results of
// which a caller has no use are empty spans.
namespace minimand {

struct SoftmaxTerms {
  std::span<double> value = {};          // log sum_c e^{z_c} - z_y
  std::span<double> gradient = {};       // p_c - [c = y]
  std::span<double> probabilities = {};  // e^{z_c} / sum_b e^{z_b}
};

/// Only e^{z_c - max z} <= 1 ever appears. Sums leave out the largest score, or the class itself,
/// so that small values and slopes keep their digits. Without y there are probabilities only.
void softmax_terms(std::span<const double> z, std::size_t k, std::span<const std::int64_t> y,
                   SoftmaxTerms terms);

/// sum_c p_c log(p_c / q_c) of every row, for p = u + [c = y] >= 0 and the softmax q of z.
void softmax_relative_entropies(std::span<const double> z, std::size_t k, std::span<const double> u,
                                std::span<const std::int64_t> y, std::span<double> result);

/// Sums over rows, with a mass each, of the softmax loss at z + shift: what its best intercepts
/// need.
struct SoftmaxSums {
  double value = 0.0;
  std::vector<double> slope;   // of the gradient, (k,)
  std::vector<double> size;    // of its absolute values, (k,)
  std::vector<double> square;  // of p p', (k, k)
};
SoftmaxSums softmax_sums(std::span<const double> z, std::size_t k, std::span<const double> shift,
                         std::span<const std::int64_t> y, std::span<const double> mass);

/// scale_i (p - p p') t for every row; scale may be empty.
void simplex_times(std::span<const double> p, std::size_t k, std::span<const double> scale,
                   std::span<const double> t, std::span<double> result);

/// factor_i t for every row of k numbers.
void scale_rows(std::span<const double> t, std::size_t k, std::span<const double> factors,
                std::span<double> result);

}  // namespace minimand
