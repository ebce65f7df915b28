#pragma once

#include <cstddef>
#include <span>

#include "descent/sweeps.hpp"

namespace minimand {

/// The first `count` rows and columns of a symmetric matrix whose rows lie `stride` apart, plus
/// weight * line line'. The second term is apart where it would hide the digits of the first.
struct GramView {
  std::span<const double> values;
  std::size_t stride;
  std::size_t count;
  std::span<const double> line = {};  // empty: there is no second term
  double weight = 0.0;

  /// Row j of the first term.
  MINIMAND_INLINE const double* row(std::size_t j) const { return values.data() + j * stride; }

  /// Element j of the diagonal of both terms.
  MINIMAND_INLINE double diagonal(std::size_t j) const {
    const double own = row(j)[j];
    return line.empty() ? own : own + weight * line.data()[j] * line.data()[j];
  }
};

/// gradient += scale * row j of the first term.
MINIMAND_INLINE void add_own_row(const GramView& gram, std::size_t j, double scale,
                                 std::span<double> gradient) {
  const std::size_t n = gram.count;
  const double* row = gram.row(j);
  double* __restrict to = gradient.data();
  for (std::size_t k = 0; k < n; ++k) to[k] += scale * row[k];
}

/// gradient += the second term times a vector whose product with the line is `along`.
MINIMAND_INLINE void add_line(const GramView& gram, double along, std::span<double> gradient) {
  const double scale = gram.weight * along;
  for (std::size_t k = 0; k < gram.line.size(); ++k) {
    gradient.data()[k] += scale * gram.line.data()[k];
  }
}

/// gradient += scale * row j of the symmetric matrix.
MINIMAND_INLINE void add_row(const GramView& gram, std::size_t j, double scale,
                             std::span<double> gradient) {
  add_own_row(gram, j, scale, gradient);
  if (!gram.line.empty()) add_line(gram, scale * gram.line.data()[j], gradient);
}

/// gradient += Gw.
MINIMAND_INLINE void add_product(const GramView& gram, std::span<const double> w,
                                 std::span<double> gradient) {
  double along = 0.0;
  for (std::size_t j = 0; j < w.size(); ++j) {
    if (w.data()[j] != 0.0) add_own_row(gram, j, w.data()[j], gradient);
    if (!gram.line.empty()) along += gram.line.data()[j] * w.data()[j];
  }
  add_line(gram, along, gradient);
}

/// Steps along the coordinates of 0.5 w'Gw + q'w + penalties.
struct GramDescent {
  GramView gram;
  std::span<double> gradient;  // q + Gw, kept up to date
  std::span<double> w;
  Penalties penalties;

  MINIMAND_INLINE void begin_full_sweep() {}

  MINIMAND_INLINE double step(std::size_t j) {
    const double diagonal = gram.diagonal(j);
    const double curvature = diagonal > 0.0 ? diagonal : 0.0;
    const double l2 = penalties.l2.data()[j];
    double& value = w.data()[j];
    const double moved = penalties.clipped(
        j, coordinate_minimiser(value, gradient.data()[j], curvature, penalties.l1.data()[j], l2));
    const double delta = moved - value;
    if (delta == 0.0) return 0.0;
    value = moved;
    add_row(gram, j, delta, gradient);
    return 0.5 * (curvature + l2) * delta * delta;
  }
};

}  // namespace minimand
