#pragma once

#include <cstddef>

namespace minimand {

// Products of lines of n numbers with one vector v; `panels.hpp` has those with several. Many lines
// are divided among threads, with the same result.

/// out[l] = line_l . v.
void dots_of_lines(const double* lines, std::size_t count, std::size_t n, const double* v,
                   double* out);

/// v += sum_l weight[l] line_l.
void add_lines(const double* lines, std::size_t count, std::size_t n, const double* weights,
               double* v);

/// The same for lines anywhere, in either precision; lines of floats may go with a v of doubles.
void dots_of_lines(const double* const* lines, std::size_t count, std::size_t n, const double* v,
                   double* out);
void add_lines(const double* const* lines, std::size_t count, std::size_t n, const double* weights,
               double* v);
void dots_of_lines(const float* const* lines, std::size_t count, std::size_t n, const float* v,
                   double* out);
void add_lines(const float* const* lines, std::size_t count, std::size_t n, const double* weights,
               float* v);
void dots_of_lines(const float* const* lines, std::size_t count, std::size_t n, const double* v,
                   double* out);
void add_lines(const float* const* lines, std::size_t count, std::size_t n, const double* weights,
               double* v);

}  // namespace minimand
