#include "groups/lines.hpp"

#include <type_traits>

#include "groups/wide.hpp"

namespace minimand {
namespace {

constexpr std::size_t kCacheLine = 64;  // bytes, which two threads should not share; definition

template <class Scalar>
MINIMAND_INLINE double total(Wide<Scalar> x) {
  double sum = 0.0;
  for (std::size_t k = 0; k < kWide<Scalar>; ++k) sum += static_cast<double>(x[k]);
  return sum;
}

/// Numbers of a line, as many as a register has of v's precision, and in that.
template <class Scalar, class Element>
MINIMAND_INLINE Wide<Scalar> load_line(const Element* from) {
  if constexpr (std::is_same_v<Scalar, Element>) {
    return load_wide(from);
  } else {
    typedef Element Narrow __attribute__((vector_size(kWide<Scalar> * sizeof(Element))));
    Narrow found;
    __builtin_memcpy(&found, from, sizeof found);
    return __builtin_convertvector(found, Wide<Scalar>);
  }
}

/// Dot products of four vectors with one, which is loaded once.
template <class Scalar, class Element>
MINIMAND_INLINE void four_dots(const Scalar* shared, const Element* const (&x)[4], std::size_t n,
                               double* out) {
  constexpr std::size_t kStep = kWide<Scalar>;
  const Element *const x0 = x[0], *const x1 = x[1], *const x2 = x[2], *const x3 = x[3];
  Wide<Scalar> sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
  Wide<Scalar> more0 = {}, more1 = {}, more2 = {}, more3 = {};
  std::size_t p = 0;
  for (; p + 2 * kStep <= n; p += 2 * kStep) {
    const Wide<Scalar> here = load_wide(shared + p), next = load_wide(shared + p + kStep);
    sum0 += load_line<Scalar>(x0 + p) * here;
    sum1 += load_line<Scalar>(x1 + p) * here;
    sum2 += load_line<Scalar>(x2 + p) * here;
    sum3 += load_line<Scalar>(x3 + p) * here;
    more0 += load_line<Scalar>(x0 + p + kStep) * next;
    more1 += load_line<Scalar>(x1 + p + kStep) * next;
    more2 += load_line<Scalar>(x2 + p + kStep) * next;
    more3 += load_line<Scalar>(x3 + p + kStep) * next;
  }
  double tail[4] = {};
  for (; p < n; ++p) {
    const double value = static_cast<double>(shared[p]);
    tail[0] += value * static_cast<double>(x0[p]);
    tail[1] += value * static_cast<double>(x1[p]);
    tail[2] += value * static_cast<double>(x2[p]);
    tail[3] += value * static_cast<double>(x3[p]);
  }
  out[0] = total<Scalar>(sum0 + more0) + tail[0];
  out[1] = total<Scalar>(sum1 + more1) + tail[1];
  out[2] = total<Scalar>(sum2 + more2) + tail[2];
  out[3] = total<Scalar>(sum3 + more3) + tail[3];
}

template <class Scalar, class Element>
MINIMAND_INLINE double one_dot(const Element* x, const Scalar* y, std::size_t n) {
  constexpr std::size_t kStep = kWide<Scalar>;
  Wide<Scalar> sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
  std::size_t p = 0;
  for (; p + 4 * kStep <= n; p += 4 * kStep) {
    sum0 += load_line<Scalar>(x + p) * load_wide(y + p);
    sum1 += load_line<Scalar>(x + p + kStep) * load_wide(y + p + kStep);
    sum2 += load_line<Scalar>(x + p + 2 * kStep) * load_wide(y + p + 2 * kStep);
    sum3 += load_line<Scalar>(x + p + 3 * kStep) * load_wide(y + p + 3 * kStep);
  }
  double tail = 0.0;
  for (; p < n; ++p) tail += static_cast<double>(x[p]) * static_cast<double>(y[p]);
  return total<Scalar>((sum0 + sum1) + (sum2 + sum3)) + tail;
}

/// Some lines; four of them share each load of v.
template <class Scalar, class Line>
MINIMAND_INLINE void dots(const Line& line, Range some, std::size_t n, const Scalar* v,
                          double* out) {
  std::size_t l = some.begin;
  for (; l + 4 <= some.end; l += 4) {
    const decltype(line(l)) lines[4] = {line(l), line(l + 1), line(l + 2), line(l + 3)};
    four_dots(v, lines, n, out + l);
  }
  for (; l < some.end; ++l) out[l] = one_dot(line(l), v, n);
}

/// Some numbers of v.
template <class Scalar, class Line>
MINIMAND_INLINE void add(const Line& line, std::size_t count, Range some, const double* weights,
                         Scalar* __restrict v) {
  std::size_t l = 0;
  for (; l + 4 <= count; l += 4) {
    const auto *const x0 = line(l), *const x1 = line(l + 1), *const x2 = line(l + 2),
                      *const x3 = line(l + 3);
    const auto at = [](auto x) { return static_cast<Scalar>(x); };
    const auto w0 = static_cast<Scalar>(weights[l]), w1 = static_cast<Scalar>(weights[l + 1]);
    const auto w2 = static_cast<Scalar>(weights[l + 2]), w3 = static_cast<Scalar>(weights[l + 3]);
    for (std::size_t p = some.begin; p < some.end; ++p) {
      v[p] += (w0 * at(x0[p]) + w1 * at(x1[p])) + (w2 * at(x2[p]) + w3 * at(x3[p]));
    }
  }
  for (; l < count; ++l) {
    const auto* const x = line(l);
    const auto weight = static_cast<Scalar>(weights[l]);
    for (std::size_t p = some.begin; p < some.end; ++p) v[p] += weight * static_cast<Scalar>(x[p]);
  }
}

// Clones need a name of their own for every type.
#define MINIMAND_KERNEL(Scalar, Line)                                                             \
  MINIMAND_CLONES void dots_of_some(const Line& line, Range some, std::size_t n, const Scalar* v, \
                                    double* out) {                                                \
    dots(line, some, n, v, out);                                                                  \
  }                                                                                               \
  MINIMAND_CLONES void add_to_some(const Line& line, std::size_t count, Range some,               \
                                   const double* weights, Scalar* v) {                            \
    add(line, count, some, weights, v);                                                           \
  }
MINIMAND_KERNEL(double, LinesBeside)
MINIMAND_KERNEL(double, LinesAnywhere<double>)
MINIMAND_KERNEL(float, LinesAnywhere<float>)
MINIMAND_KERNEL(double, LinesAnywhere<float>)
#undef MINIMAND_KERNEL

template <class Scalar, class Line>
void dots_of_all(const Line& line, std::size_t count, std::size_t n, const Scalar* v, double* out) {
  parallel_blocks(count, 4, count * n, [&](Range some) { dots_of_some(line, some, n, v, out); });
}

template <class Scalar, class Line>
void add_to_all(const Line& line, std::size_t count, std::size_t n, const double* weights,
                Scalar* v) {
  parallel_blocks(n, kCacheLine / sizeof(Scalar), count * n,
                  [&](Range some) { add_to_some(line, count, some, weights, v); });
}

}  // namespace

void dots_of_lines(const double* lines, std::size_t count, std::size_t n, const double* v,
                   double* out) {
  dots_of_all(LinesBeside{lines, n}, count, n, v, out);
}

void add_lines(const double* lines, std::size_t count, std::size_t n, const double* weights,
               double* v) {
  add_to_all(LinesBeside{lines, n}, count, n, weights, v);
}

#define MINIMAND_KERNEL(Element, Scalar)                                            \
  void dots_of_lines(const Element* const* lines, std::size_t count, std::size_t n, \
                     const Scalar* v, double* out) {                                \
    dots_of_all(LinesAnywhere<Element>{lines}, count, n, v, out);                   \
  }                                                                                 \
  void add_lines(const Element* const* lines, std::size_t count, std::size_t n,     \
                 const double* weights, Scalar* v) {                                \
    add_to_all(LinesAnywhere<Element>{lines}, count, n, weights, v);                \
  }
MINIMAND_KERNEL(double, double)
MINIMAND_KERNEL(float, float)
MINIMAND_KERNEL(float, double)
#undef MINIMAND_KERNEL

}  // namespace minimand
