#include "descent/dense_columns.hpp"

#include <vector>

#include "common/lanes.hpp"

namespace minimand {
namespace {

/// One column of the working set.
template <class Scalar>
struct DenseColumn {
  std::span<const Scalar> values;
  double weighted_sum;
  double curvature;
};

/// The rows' weights and gradients.
struct DenseRows {
  std::span<const double> h;
  std::span<double> q;
  bool uniform;  // all weights equal: they multiply the step instead of every element

  MINIMAND_INLINE double gradient_total() const { return sum(q.data(), q.size()); }

  MINIMAND_INLINE void add_constant(double constant) {
    const double* weight = h.data();
    double* __restrict to = q.data();
    const std::size_t n = q.size();
    for (std::size_t i = 0; i < n; ++i) to[i] += constant * weight[i];
  }

  template <class Scalar>
  MINIMAND_INLINE void add(std::span<const Scalar> column, double delta) {
    const std::size_t n = q.size();
    const Scalar* x = column.data();
    const double* weight = h.data();
    double* __restrict to = q.data();
    if (uniform) {
      const double scale = delta * weight[0];
      for (std::size_t i = 0; i < n; ++i) to[i] += scale * static_cast<double>(x[i]);
    } else {
      for (std::size_t i = 0; i < n; ++i) to[i] += delta * weight[i] * static_cast<double>(x[i]);
    }
  }
};

template <class Scalar>
struct DenseDescent {
  std::span<const DenseColumn<Scalar>> columns;
  DenseRows rows;
  std::span<double> w;
  Penalties penalties;
  Centring centring;

  /// Columns with large means give q a large constant part, whose rounding errors would become
  /// larger than the gradient if it were not taken out.
  MINIMAND_INLINE void begin_full_sweep() { centring.recentre(rows); }

  MINIMAND_INLINE double step(std::size_t j) {
    const DenseColumn<Scalar>& column = columns.data()[j];
    const double gradient = dot(column.values.data(), rows.q.data(), rows.q.size()) -
                            column.weighted_sum * centring.offset();
    double& value = w.data()[j];
    const double l2 = penalties.l2.data()[j];
    const double moved = penalties.clipped(
        j, coordinate_minimiser(value, gradient, column.curvature, penalties.l1.data()[j], l2));
    const double delta = moved - value;
    if (delta == 0.0) return 0.0;
    value = moved;
    rows.add(column.values, delta);
    centring.moved(column.weighted_sum, delta);
    return 0.5 * (column.curvature + l2) * delta * delta;
  }
};

/// sum_i weight_i (x_i - mean)^2.
template <class Scalar>
MINIMAND_INLINE double weighted_square(const Scalar* x, const double* weight, double mean,
                                       std::size_t n) {
  Lanes squares = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes centred = load_lanes(x + i) - mean;
    squares += load_lanes(weight + i) * centred * centred;
  }
  double tail = 0.0;
  for (; i < n; ++i) {
    const double centred = static_cast<double>(x[i]) - mean;
    tail += weight[i] * centred * centred;
  }
  return sum_lanes(squares) + tail;
}

/// Fills in the weighted sum and the centred second moment of a column.
template <class Scalar>
MINIMAND_INLINE void describe(DenseColumn<Scalar>& column, std::span<const double> h,
                              const Centring& centring) {
  const std::size_t n = h.size();
  const Scalar* x = column.values.data();
  const double* weight = h.data();
  column.weighted_sum = 0.0;
  column.curvature = weighted_square(x, weight, 0.0, n);
  if (centring.present()) {
    column.weighted_sum = dot(x, weight, n);
    const double mean = column.weighted_sum / centring.weight_total();
    column.curvature = centred_curvature(column.curvature, weighted_square(x, weight, mean, n));
  }
}

template <class Scalar>
MINIMAND_INLINE SweepReport describe_and_descend(std::span<DenseColumn<Scalar>> columns,
                                                 DenseDescent<Scalar>& descent, StopRule stop,
                                                 std::span<std::size_t> active) {
  const std::size_t count = columns.size();
  for (std::size_t j = 0; j < count; ++j) {
    describe(columns.data()[j], descent.rows.h, descent.centring);
  }
  const SweepReport report =
      sweep_until_settled(one_by_one(descent, descent.w.size()), descent.w, active, stop);
  descent.centring.recentre(descent.rows);
  return report;
}

}  // namespace

#define MINIMAND_KERNEL(Scalar)                                                                  \
  MINIMAND_CLONES SweepReport dense_columns_kernel(std::span<DenseColumn<Scalar>> columns,       \
                                                   DenseDescent<Scalar>& descent, StopRule stop, \
                                                   std::span<std::size_t> active) {              \
    return describe_and_descend(columns, descent, stop, active);                                 \
  }
namespace {
MINIMAND_KERNEL(float)
MINIMAND_KERNEL(double)
}  // namespace

template <class Scalar>
ColumnsReport descend_dense_columns(const DenseMatrix<Scalar>& matrix,
                                    std::span<const std::int64_t> chosen, std::span<const double> h,
                                    std::span<double> q, std::span<double> w, Penalties penalties,
                                    bool centre, StopRule stop) {
  std::vector<DenseColumn<Scalar>> columns;
  columns.reserve(chosen.size());
  for (const std::int64_t index : chosen) {
    columns.push_back({matrix.line(static_cast<std::size_t>(index)), 0.0, 0.0});
  }
  std::vector<std::size_t> active(w.size());
  const DenseRows rows{h, q, !h.empty() && is_uniform(h)};
  DenseDescent<Scalar> descent{columns, rows, w, penalties, Centring(centre, h, q)};
  const SweepReport report = dense_columns_kernel(columns, descent, stop, active);
  return {descent.centring.shift(), report};
}

template ColumnsReport descend_dense_columns(const DenseMatrix<float>&,
                                             std::span<const std::int64_t>, std::span<const double>,
                                             std::span<double>, std::span<double>, Penalties, bool,
                                             StopRule);
template ColumnsReport descend_dense_columns(const DenseMatrix<double>&,
                                             std::span<const std::int64_t>, std::span<const double>,
                                             std::span<double>, std::span<double>, Penalties, bool,
                                             StopRule);

}  // namespace minimand
