#include "dense/tiles.hpp"

#include "common/lanes.hpp"

namespace minimand {
namespace {

/// Four lines at a time share each load of x.
template <class Scalar>
MINIMAND_INLINE void line_dots(const DenseMatrix<Scalar>& matrix, Tile tile,
                               std::span<const double> x, std::span<double> out) {
  const std::size_t n = tile.positions.end - tile.positions.begin;
  const std::size_t stride = matrix.stride;
  const Scalar* base = matrix.values.data() + tile.positions.begin;
  const double* from = x.data() + tile.positions.begin;
  double* to = out.data();
  std::size_t l = tile.lines.begin;
  for (; l + 4 <= tile.lines.end; l += 4) {
    const Scalar* line0 = base + l * stride;
    const Scalar* line1 = line0 + stride;
    const Scalar* line2 = line1 + stride;
    const Scalar* line3 = line2 + stride;
    Lanes sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
    Lanes more0 = {}, more1 = {}, more2 = {}, more3 = {};
    std::size_t p = 0;
    for (; p + 2 * kLanes <= n; p += 2 * kLanes) {
      const Lanes here = load_lanes(from + p);
      const Lanes next = load_lanes(from + p + kLanes);
      sum0 += load_lanes(line0 + p) * here;
      sum1 += load_lanes(line1 + p) * here;
      sum2 += load_lanes(line2 + p) * here;
      sum3 += load_lanes(line3 + p) * here;
      more0 += load_lanes(line0 + p + kLanes) * next;
      more1 += load_lanes(line1 + p + kLanes) * next;
      more2 += load_lanes(line2 + p + kLanes) * next;
      more3 += load_lanes(line3 + p + kLanes) * next;
    }
    if (p + kLanes <= n) {
      const Lanes here = load_lanes(from + p);
      sum0 += load_lanes(line0 + p) * here;
      sum1 += load_lanes(line1 + p) * here;
      sum2 += load_lanes(line2 + p) * here;
      sum3 += load_lanes(line3 + p) * here;
      p += kLanes;
    }
    double tail0 = 0.0, tail1 = 0.0, tail2 = 0.0, tail3 = 0.0;
    for (; p < n; ++p) {
      tail0 += static_cast<double>(line0[p]) * from[p];
      tail1 += static_cast<double>(line1[p]) * from[p];
      tail2 += static_cast<double>(line2[p]) * from[p];
      tail3 += static_cast<double>(line3[p]) * from[p];
    }
    to[l] += sum_lanes(sum0 + more0) + tail0;
    to[l + 1] += sum_lanes(sum1 + more1) + tail1;
    to[l + 2] += sum_lanes(sum2 + more2) + tail2;
    to[l + 3] += sum_lanes(sum3 + more3) + tail3;
  }
  for (; l < tile.lines.end; ++l) to[l] += dot(base + l * stride, from, n);
}

/// Each load of four lines serves several vectors, and each load of these four lines: with three
/// vectors, all sums stay in registers.
template <std::size_t kVectors, class Scalar>
MINIMAND_INLINE void several_line_dots(const DenseMatrix<Scalar>& matrix, Tile tile,
                                       const double* x, double* out) {
  const std::size_t n = tile.positions.end - tile.positions.begin;
  const Scalar* base = matrix.values.data() + tile.positions.begin;
  const double* from[kVectors];
  for (std::size_t c = 0; c < kVectors; ++c) from[c] = x + c * matrix.length + tile.positions.begin;
  std::size_t l = tile.lines.begin;
  for (; l + 4 <= tile.lines.end; l += 4) {
    const Scalar* line = base + l * matrix.stride;
    Lanes sums[4][kVectors] = {};
    std::size_t p = 0;
    for (; p + kLanes <= n; p += kLanes) {
      Lanes here[kVectors];
#pragma GCC unroll 3
      for (std::size_t c = 0; c < kVectors; ++c) here[c] = load_lanes(from[c] + p);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < 4; ++r) {
        const Lanes numbers = load_lanes(line + r * matrix.stride + p);
#pragma GCC unroll 3
        for (std::size_t c = 0; c < kVectors; ++c) sums[r][c] += numbers * here[c];
      }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < 4; ++r) {
#pragma GCC unroll 3
      for (std::size_t c = 0; c < kVectors; ++c) {
        double sum = sum_lanes(sums[r][c]);
        for (std::size_t i = p; i < n; ++i) {
          sum += static_cast<double>(line[r * matrix.stride + i]) * from[c][i];
        }
        out[c * matrix.lines + l + r] += sum;
      }
    }
  }
  for (; l < tile.lines.end; ++l) {
    for (std::size_t c = 0; c < kVectors; ++c) {
      out[c * matrix.lines + l] += dot(base + l * matrix.stride, from[c], n);
    }
  }
}

template <class Scalar>
MINIMAND_INLINE void all_dots(const DenseMatrix<Scalar>& matrix, Tile tile,
                              std::span<const double> x, std::size_t width, std::span<double> out) {
  const std::size_t length = matrix.length, lines = matrix.lines;
  std::size_t c = 0;
  for (; c + 3 <= width; c += 3) {
    several_line_dots<3>(matrix, tile, x.data() + c * length, out.data() + c * lines);
  }
  if (c + 2 == width) {
    several_line_dots<2>(matrix, tile, x.data() + c * length, out.data() + c * lines);
  } else if (c < width) {
    line_dots(matrix, tile, x.subspan(c * length, length), out.subspan(c * lines, lines));
  }
}

/// to += w0 line0 + w1 line1 + w2 line2 + w3 line3: four lines share each load and store of out.
template <class Scalar>
MINIMAND_INLINE void add_four(const Scalar* const* lines, const double* weights, std::size_t n,
                              double* to) {
  const Scalar *line0 = lines[0], *line1 = lines[1], *line2 = lines[2], *line3 = lines[3];
  const double w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];
  std::size_t p = 0;
  for (; p + kLanes <= n; p += kLanes) {
    const Lanes left = w0 * load_lanes(line0 + p) + w1 * load_lanes(line1 + p);
    const Lanes right = w2 * load_lanes(line2 + p) + w3 * load_lanes(line3 + p);
    store_lanes(to + p, load_lanes(to + p) + (left + right));
  }
  for (; p < n; ++p) {
    const double left = w0 * static_cast<double>(line0[p]) + w1 * static_cast<double>(line1[p]);
    const double right = w2 * static_cast<double>(line2[p]) + w3 * static_cast<double>(line3[p]);
    to[p] += left + right;
  }
}

/// Lines of weight zero are not read: a sparse model has many.
template <class Scalar>
MINIMAND_INLINE void line_sums(const DenseMatrix<Scalar>& matrix, Tile tile,
                               std::span<const double> x, std::span<double> out) {
  const std::size_t n = tile.positions.end - tile.positions.begin;
  const Scalar* base = matrix.values.data() + tile.positions.begin;
  const double* weight = x.data();
  double* to = out.data() + tile.positions.begin;
  const Scalar* lines[4];
  double weights[4];
  std::size_t count = 0;
  for (std::size_t l = tile.lines.begin; l < tile.lines.end; ++l) {
    if (weight[l] == 0.0) continue;
    lines[count] = base + l * matrix.stride;
    weights[count++] = weight[l];
    if (count < 4) continue;
    add_four(lines, weights, n, to);
    count = 0;
  }
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t p = 0; p < n; ++p) to[p] += weights[k] * static_cast<double>(lines[k][p]);
  }
}

}  // namespace

#define MINIMAND_KERNELS(Scalar)                                                         \
  MINIMAND_CLONES void add_line_dots(const DenseMatrix<Scalar>& matrix, Tile tile,       \
                                     std::span<const double> x, std::size_t width,       \
                                     std::span<double> out) {                            \
    all_dots(matrix, tile, x, width, out);                                               \
  }                                                                                      \
  MINIMAND_CLONES void add_line_sums(const DenseMatrix<Scalar>& matrix, Tile tile,       \
                                     std::span<const double> x, std::span<double> out) { \
    line_sums(matrix, tile, x, out);                                                     \
  }
MINIMAND_KERNELS(float)
MINIMAND_KERNELS(double)

}  // namespace minimand
