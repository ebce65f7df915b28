#pragma once

#include <cstddef>

#include "groups/wide.hpp"

namespace minimand {

// Products of lines of n numbers with a table of several scores. A table has a row of scores for
// every number of a line, padded with zeros to whole vectors, so that vectors lie along the scores:
// no sum over lanes and no rest is left, however short the lines are. Many lines are divided among
// threads, with the same result.

/// Numbers from one row of a table to the next.
template <class Scalar>
constexpr std::size_t panel_stride(std::size_t scores) {
  return (scores + kWide<Scalar> - 1) / kWide<Scalar> * kWide<Scalar>;
}

/// out[l * scores + c] = sum_p line_l[p] table[p, c].
void dots_of_panel(const double* lines, std::size_t count, std::size_t n, const double* table,
                   std::size_t scores, double* out);

/// table[p, c] += sum_l line_l[p] weights[l, c]; the weights are a table, too.
void add_to_panel(const double* lines, std::size_t count, std::size_t n, const double* weights,
                  std::size_t scores, double* table);

/// The same in single precision, for lines anywhere.
void dots_of_panel(const float* const* lines, std::size_t count, std::size_t n, const float* table,
                   std::size_t scores, double* out);
void add_to_panel(const float* const* lines, std::size_t count, std::size_t n, const float* weights,
                  std::size_t scores, float* table);

}  // namespace minimand
