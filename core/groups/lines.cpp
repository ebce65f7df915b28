#include "groups/lines.hpp"

#include "common/targets.hpp"

namespace minimand {
namespace {

// Vectors as long as a register, of either precision.
template <class Scalar>
struct Vector;
template <>
struct Vector<double> {
  typedef double Type __attribute__((vector_size(MINIMAND_VECTOR_BYTES)));
};
template <>
struct Vector<float> {
  typedef float Type __attribute__((vector_size(MINIMAND_VECTOR_BYTES)));
};
template <class Scalar>
using Wide = typename Vector<Scalar>::Type;
template <class Scalar>
inline constexpr std::size_t kWide = MINIMAND_VECTOR_BYTES / sizeof(Scalar);

template <class Scalar>
MINIMAND_INLINE Wide<Scalar> load(const Scalar* from) {
  Wide<Scalar> found;
  __builtin_memcpy(&found, from, sizeof found);
  return found;
}

template <class Scalar>
MINIMAND_INLINE double total(Wide<Scalar> x) {
  double sum = 0.0;
  for (std::size_t k = 0; k < kWide<Scalar>; ++k) sum += static_cast<double>(x[k]);
  return sum;
}

/// Dot products of four vectors with one, which is loaded once.
template <class Scalar>
MINIMAND_INLINE void four_dots(const Scalar* shared, const Scalar* const (&x)[4], std::size_t n,
                               double (&out)[4]) {
  constexpr std::size_t kStep = kWide<Scalar>;
  const Scalar *const x0 = x[0], *const x1 = x[1], *const x2 = x[2], *const x3 = x[3];
  Wide<Scalar> sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
  Wide<Scalar> more0 = {}, more1 = {}, more2 = {}, more3 = {};
  std::size_t p = 0;
  for (; p + 2 * kStep <= n; p += 2 * kStep) {
    const Wide<Scalar> here = load(shared + p), next = load(shared + p + kStep);
    sum0 += load(x0 + p) * here;
    sum1 += load(x1 + p) * here;
    sum2 += load(x2 + p) * here;
    sum3 += load(x3 + p) * here;
    more0 += load(x0 + p + kStep) * next;
    more1 += load(x1 + p + kStep) * next;
    more2 += load(x2 + p + kStep) * next;
    more3 += load(x3 + p + kStep) * next;
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

template <class Scalar>
MINIMAND_INLINE double one_dot(const Scalar* x, const Scalar* y, std::size_t n) {
  constexpr std::size_t kStep = kWide<Scalar>;
  Wide<Scalar> sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
  std::size_t p = 0;
  for (; p + 4 * kStep <= n; p += 4 * kStep) {
    sum0 += load(x + p) * load(y + p);
    sum1 += load(x + p + kStep) * load(y + p + kStep);
    sum2 += load(x + p + 2 * kStep) * load(y + p + 2 * kStep);
    sum3 += load(x + p + 3 * kStep) * load(y + p + 3 * kStep);
  }
  double tail = 0.0;
  for (; p < n; ++p) tail += static_cast<double>(x[p]) * static_cast<double>(y[p]);
  return total<Scalar>((sum0 + sum1) + (sum2 + sum3)) + tail;
}

/// `line(l)` is the l-th line. Four of them share each load of v; what is left of them, or a single
/// one, is shared by the vectors of four scores.
template <class Scalar, class Line>
MINIMAND_INLINE void dots(const Line& line, std::size_t count, std::size_t n, const Scalar* v,
                          std::size_t scores, double* out) {
  double found[4];
  std::size_t l = 0;
  for (; l + 4 <= count; l += 4) {
    const Scalar* const lines[4] = {line(l), line(l + 1), line(l + 2), line(l + 3)};
    for (std::size_t c = 0; c < scores; ++c) {
      four_dots(v + c * n, lines, n, found);
      for (std::size_t i = 0; i < 4; ++i) out[(l + i) * scores + c] = found[i];
    }
  }
  for (; l < count; ++l) {
    std::size_t c = 0;
    for (; c + 4 <= scores; c += 4) {
      const Scalar* const from = v + c * n;
      const Scalar* const vectors[4] = {from, from + n, from + 2 * n, from + 3 * n};
      four_dots(line(l), vectors, n, found);
      for (std::size_t i = 0; i < 4; ++i) out[l * scores + c + i] = found[i];
    }
    for (; c < scores; ++c) out[l * scores + c] = one_dot(line(l), v + c * n, n);
  }
}

template <class Scalar, class Line>
MINIMAND_INLINE void add(const Line& line, std::size_t count, std::size_t n, const double* weights,
                         std::size_t scores, Scalar* v) {
  std::size_t l = 0;
  for (; l + 4 <= count; l += 4) {
    const Scalar *const x0 = line(l), *const x1 = line(l + 1), *const x2 = line(l + 2),
                        *const x3 = line(l + 3);
    for (std::size_t c = 0; c < scores; ++c) {
      const double* const own = weights + l * scores + c;
      const auto w0 = static_cast<Scalar>(own[0]), w1 = static_cast<Scalar>(own[scores]);
      const auto w2 = static_cast<Scalar>(own[2 * scores]);
      const auto w3 = static_cast<Scalar>(own[3 * scores]);
      Scalar* const __restrict to = v + c * n;
      for (std::size_t p = 0; p < n; ++p) {
        to[p] += (w0 * x0[p] + w1 * x1[p]) + (w2 * x2[p] + w3 * x3[p]);
      }
    }
  }
  for (; l < count; ++l) {
    const Scalar* const x = line(l);
    for (std::size_t c = 0; c < scores; ++c) {
      const auto weight = static_cast<Scalar>(weights[l * scores + c]);
      Scalar* const __restrict to = v + c * n;
      for (std::size_t p = 0; p < n; ++p) to[p] += weight * x[p];
    }
  }
}

struct Beside {
  const double* lines;
  std::size_t n;
  MINIMAND_INLINE const double* operator()(std::size_t l) const { return lines + l * n; }
};

struct Anywhere {
  const float* const* lines;
  MINIMAND_INLINE const float* operator()(std::size_t l) const { return lines[l]; }
};

}  // namespace

MINIMAND_CLONES void dots_of_lines(const double* lines, std::size_t count, std::size_t n,
                                   const double* v, std::size_t scores, double* out) {
  dots(Beside{lines, n}, count, n, v, scores, out);
}

MINIMAND_CLONES void add_lines(const double* lines, std::size_t count, std::size_t n,
                               const double* weights, std::size_t scores, double* v) {
  add(Beside{lines, n}, count, n, weights, scores, v);
}

MINIMAND_CLONES void dots_of_lines(const float* const* lines, std::size_t count, std::size_t n,
                                   const float* v, std::size_t scores, double* out) {
  dots(Anywhere{lines}, count, n, v, scores, out);
}

MINIMAND_CLONES void add_lines(const float* const* lines, std::size_t count, std::size_t n,
                               const double* weights, std::size_t scores, float* v) {
  add(Anywhere{lines}, count, n, weights, scores, v);
}

}  // namespace minimand
