#pragma once

#include <cstddef>

namespace minimand {

// Products of a few lines of n numbers, `stride` apart, with a vector v for every score, one vector
// after the other. The loader resolves each function to the clone for this processor.

/// out[l * scores + c] = line_l . v_c.
void dots_of_lines(const double* lines, std::size_t count, std::size_t n, const double* v,
                   std::size_t scores, double* out);

/// v_c += sum_l weight[l * scores + c] line_l.
void add_lines(const double* lines, std::size_t count, std::size_t n, const double* weights,
               std::size_t scores, double* v);

/// The same in single precision, for lines anywhere.
void dots_of_lines(const float* const* lines, std::size_t count, std::size_t n, const float* v,
                   std::size_t scores, double* out);
void add_lines(const float* const* lines, std::size_t count, std::size_t n, const double* weights,
               std::size_t scores, float* v);

}  // namespace minimand
