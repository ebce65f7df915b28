#include "groups/panels.hpp"

#include <algorithm>

namespace minimand {
namespace {

constexpr std::size_t kTall =
    4;  // lines or numbers that share the loads of a table; set by the registers
constexpr std::size_t kTogether = 64;  // lines whose parts stay in the nearest cache; safeguard

/// The vectors of a table that are summed at once, from its column c on: three, with four lines, or
/// eight with a single one, fit the registers.
template <std::size_t R>
MINIMAND_INLINE std::size_t chunk(std::size_t left) {
  if (R == 1) return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
  return left == 1 ? 1 : left == 2 || left == 4 ? 2 : 3;
}

template <std::size_t R, std::size_t L, class Scalar, class Line>
MINIMAND_INLINE void dots_tile(const Line& line, std::size_t first, std::size_t n,
                               const Scalar* table, std::size_t scores, std::size_t c,
                               double* out) {
  const std::size_t stride = panel_stride<Scalar>(scores);
  const Scalar* x[R];
  for (std::size_t r = 0; r < R; ++r) x[r] = line(first + r);
  Wide<Scalar> sums[R][L] = {};
  const Scalar* row = table + c;
  for (std::size_t p = 0; p < n; ++p, row += stride) {
    Wide<Scalar> own[L];
    for (std::size_t l = 0; l < L; ++l) own[l] = load_wide(row + l * kWide<Scalar>);
    for (std::size_t r = 0; r < R; ++r) {
      const Wide<Scalar> factor = same_wide<Scalar>(x[r][p]);
      for (std::size_t l = 0; l < L; ++l) sums[r][l] += factor * own[l];
    }
  }
  for (std::size_t r = 0; r < R; ++r) {
    double* const to = out + (first + r) * scores;
    for (std::size_t l = 0; l < L; ++l) {
      const std::size_t from = c + l * kWide<Scalar>;
      const std::size_t some = std::min(kWide<Scalar>, scores - std::min(scores, from));
      for (std::size_t k = 0; k < some; ++k) to[from + k] = static_cast<double>(sums[r][l][k]);
    }
  }
}

template <std::size_t R, class Scalar, class Line>
MINIMAND_INLINE void dots_of_some(const Line& line, std::size_t first, std::size_t n,
                                  const Scalar* table, std::size_t scores, double* out) {
  std::size_t c = 0;
  for (std::size_t left = panel_stride<Scalar>(scores) / kWide<Scalar>; left > 0;) {
    const std::size_t taken = chunk<R>(left);
    if constexpr (R == 1) {
      if (taken == 8) dots_tile<R, 8>(line, first, n, table, scores, c, out);
      if (taken == 4) dots_tile<R, 4>(line, first, n, table, scores, c, out);
    } else {
      if (taken == 3) dots_tile<R, 3>(line, first, n, table, scores, c, out);
    }
    if (taken == 2) dots_tile<R, 2>(line, first, n, table, scores, c, out);
    if (taken == 1) dots_tile<R, 1>(line, first, n, table, scores, c, out);
    c += taken * kWide<Scalar>;
    left -= taken;
  }
}

template <class Scalar, class Line>
MINIMAND_INLINE void dots(const Line& line, Range some, std::size_t n, const Scalar* table,
                          std::size_t scores, double* out) {
  std::size_t l = some.begin;
  for (; l + kTall <= some.end; l += kTall) dots_of_some<kTall>(line, l, n, table, scores, out);
  for (; l < some.end; ++l) dots_of_some<1>(line, l, n, table, scores, out);
}

/// R rows of the table from row p on, with the lines from `begin` to `end`.
template <std::size_t R, std::size_t L, class Scalar, class Line>
MINIMAND_INLINE void add_tile(const Line& line, std::size_t begin, std::size_t end, std::size_t p,
                              const Scalar* weights, std::size_t stride, std::size_t c,
                              Scalar* table) {
  Wide<Scalar> sums[R][L];
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t l = 0; l < L; ++l)
      sums[r][l] = load_wide(table + (p + r) * stride + c + l * kWide<Scalar>);
  }
  for (std::size_t i = begin; i < end; ++i) {
    const Scalar* const x = line(i) + p;
    Wide<Scalar> own[L];
    for (std::size_t l = 0; l < L; ++l)
      own[l] = load_wide(weights + i * stride + c + l * kWide<Scalar>);
    for (std::size_t r = 0; r < R; ++r) {
      const Wide<Scalar> factor = same_wide<Scalar>(x[r]);
      for (std::size_t l = 0; l < L; ++l) sums[r][l] += factor * own[l];
    }
  }
  for (std::size_t r = 0; r < R; ++r) {
    for (std::size_t l = 0; l < L; ++l)
      store_wide<Scalar>(table + (p + r) * stride + c + l * kWide<Scalar>, sums[r][l]);
  }
}

template <std::size_t L, class Scalar, class Line>
MINIMAND_INLINE void add_chunk(const Line& line, std::size_t begin, std::size_t end, Range some,
                               const Scalar* weights, std::size_t stride, std::size_t c,
                               Scalar* table) {
  std::size_t p = some.begin;
  for (; p + kTall <= some.end; p += kTall)
    add_tile<kTall, L>(line, begin, end, p, weights, stride, c, table);
  for (; p < some.end; ++p) add_tile<1, L>(line, begin, end, p, weights, stride, c, table);
}

template <class Scalar, class Line>
MINIMAND_INLINE void add(const Line& line, std::size_t count, Range some, const Scalar* weights,
                         std::size_t scores, Scalar* table) {
  const std::size_t stride = panel_stride<Scalar>(scores);
  for (std::size_t begin = 0; begin < count; begin += kTogether) {
    const std::size_t end = std::min(begin + kTogether, count);
    std::size_t c = 0;
    for (std::size_t left = stride / kWide<Scalar>; left > 0;) {
      const std::size_t taken = chunk<kTall>(left);
      if (taken == 3) add_chunk<3>(line, begin, end, some, weights, stride, c, table);
      if (taken == 2) add_chunk<2>(line, begin, end, some, weights, stride, c, table);
      if (taken == 1) add_chunk<1>(line, begin, end, some, weights, stride, c, table);
      c += taken * kWide<Scalar>;
      left -= taken;
    }
  }
}

// Clones need a name of their own for every type.
#define MINIMAND_KERNEL(Scalar, Line)                                                          \
  MINIMAND_CLONES void dots_of_lines(const Line& line, Range some, std::size_t n,              \
                                     const Scalar* table, std::size_t scores, double* out) {   \
    dots(line, some, n, table, scores, out);                                                   \
  }                                                                                            \
  MINIMAND_CLONES void add_to_rows(const Line& line, std::size_t count, Range some,            \
                                   const Scalar* weights, std::size_t scores, Scalar* table) { \
    add(line, count, some, weights, scores, table);                                            \
  }
MINIMAND_KERNEL(double, LinesBeside)
MINIMAND_KERNEL(float, LinesAnywhere<float>)
#undef MINIMAND_KERNEL

template <class Scalar, class Line>
void dots_of_all(const Line& line, std::size_t count, std::size_t n, const Scalar* table,
                 std::size_t scores, double* out) {
  parallel_blocks(count, kTall, count * n * panel_stride<Scalar>(scores) / kWide<Scalar>,
                  [&](Range some) { dots_of_lines(line, some, n, table, scores, out); });
}

template <class Scalar, class Line>
void add_to_all(const Line& line, std::size_t count, std::size_t n, const Scalar* weights,
                std::size_t scores, Scalar* table) {
  parallel_blocks(n, kTall, count * n * panel_stride<Scalar>(scores) / kWide<Scalar>,
                  [&](Range some) { add_to_rows(line, count, some, weights, scores, table); });
}

}  // namespace

void dots_of_panel(const double* lines, std::size_t count, std::size_t n, const double* table,
                   std::size_t scores, double* out) {
  dots_of_all(LinesBeside{lines, n}, count, n, table, scores, out);
}

void add_to_panel(const double* lines, std::size_t count, std::size_t n, const double* weights,
                  std::size_t scores, double* table) {
  add_to_all(LinesBeside{lines, n}, count, n, weights, scores, table);
}

void dots_of_panel(const float* const* lines, std::size_t count, std::size_t n, const float* table,
                   std::size_t scores, double* out) {
  dots_of_all(LinesAnywhere<float>{lines}, count, n, table, scores, out);
}

void add_to_panel(const float* const* lines, std::size_t count, std::size_t n, const float* weights,
                  std::size_t scores, float* table) {
  add_to_all(LinesAnywhere<float>{lines}, count, n, weights, scores, table);
}

}  // namespace minimand
