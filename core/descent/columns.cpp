#include "descent/columns.hpp"

#include <algorithm>
#include <vector>

#include "common/lanes.hpp"
#include "descent/sweeps_in_parts.hpp"
#include "sparse/entries.hpp"

namespace minimand {
namespace {

/// The data of one column that a step needs.
template <class Scalar, class Index>
struct Column {
  std::span<const Scalar> values;
  std::span<const Index> indices;
  ColumnMoments moments;
};

/// Weights that are all equal multiply the step instead of every entry.
struct UniformRows {
  double weight;
  std::span<double> q;

  MINIMAND_INLINE double weight_of(std::size_t) const { return weight; }

  std::size_t size() const { return q.size(); }
  MINIMAND_INLINE double q_of(std::size_t i) const { return q.data()[i]; }
  MINIMAND_INLINE void set_q(std::size_t i, double value) { q.data()[i] = value; }

  class Copy;

  double gradient_total() const { return sum(q.data(), q.size()); }

  void add_constant(double constant) {
    for (double& value : q) value += weight * constant;
  }

  template <class Scalar, class Index>
  MINIMAND_INLINE double dot(const Column<Scalar, Index>& column) const {
    return sparse_dot<Scalar, Index>(column.values, column.indices, q);
  }

  template <class Scalar, class Index>
  MINIMAND_INLINE void add(const Column<Scalar, Index>& column, double delta) {
    sparse_axpy(delta * weight, column.values, column.indices, q);
  }
};

/// The same rows with a q of their own.
class UniformRows::Copy {
 public:
  explicit Copy(const UniformRows& from) : q_(from.q.size()), rows_{from.weight, q_} {}
  UniformRows& rows() { return rows_; }
  void reset(const UniformRows& from) { std::copy(from.q.begin(), from.q.end(), q_.begin()); }

 private:
  std::vector<double> q_;
  UniformRows rows_;
};

/// q and h of a row are adjacent in memory: a column's entries are scattered over the rows, and
/// reading q brings the h that the update needs into the cache.
struct WeightedRows {
  struct Row {
    double q;
    double h;
  };
  std::vector<Row> rows;

  WeightedRows(std::span<const double> q, std::span<const double> h) : rows(q.size()) {
    for (std::size_t i = 0; i < q.size(); ++i) rows[i] = {q[i], h[i]};
  }

  MINIMAND_INLINE double weight_of(std::size_t i) const { return rows.data()[i].h; }

  std::size_t size() const { return rows.size(); }
  MINIMAND_INLINE double q_of(std::size_t i) const { return rows.data()[i].q; }
  MINIMAND_INLINE void set_q(std::size_t i, double value) { rows.data()[i].q = value; }

  class Copy;

  double gradient_total() const {
    double totals[4] = {};  // independent sums hide the latency of additions
    for (std::size_t i = 0; i < rows.size(); ++i) totals[i % 4] += rows[i].q;
    return (totals[0] + totals[1]) + (totals[2] + totals[3]);
  }

  void add_constant(double constant) {
    for (Row& row : rows) row.q += row.h * constant;
  }

  template <class Scalar, class Index>
  MINIMAND_INLINE double dot(const Column<Scalar, Index>& column) const {
    const Scalar* value = column.values.data();
    const Index* index = column.indices.data();
    const Row* row = rows.data();
    const std::size_t n = column.values.size();
    double sum0 = 0.0, sum1 = 0.0, sum2 = 0.0, sum3 = 0.0;
    std::size_t k = 0;
    for (; k + 4 <= n; k += 4) {
      sum0 += static_cast<double>(value[k]) * row[index[k]].q;
      sum1 += static_cast<double>(value[k + 1]) * row[index[k + 1]].q;
      sum2 += static_cast<double>(value[k + 2]) * row[index[k + 2]].q;
      sum3 += static_cast<double>(value[k + 3]) * row[index[k + 3]].q;
    }
    for (; k < n; ++k) sum0 += static_cast<double>(value[k]) * row[index[k]].q;
    return (sum0 + sum1) + (sum2 + sum3);
  }

  template <class Scalar, class Index>
  MINIMAND_INLINE void add(const Column<Scalar, Index>& column, double delta) {
    const Scalar* value = column.values.data();
    const Index* index = column.indices.data();
    Row* row = rows.data();
    const std::size_t n = column.values.size();
    for (std::size_t k = 0; k < n; ++k) {
      Row& own = row[index[k]];
      own.q += (delta * static_cast<double>(value[k])) * own.h;
    }
  }
};

/// The same rows with a q of their own.
class WeightedRows::Copy {
 public:
  explicit Copy(const WeightedRows& from) : rows_(from) {}
  WeightedRows& rows() { return rows_; }
  void reset(const WeightedRows& from) {
    std::copy(from.rows.begin(), from.rows.end(), rows_.rows.begin());
  }

 private:
  WeightedRows rows_;
};

/// The weighted sum and the curvature of a column where the constant b is minimised out.
template <class Scalar, class Index, class Rows>
ColumnMoments centred_moments(const Column<Scalar, Index>& column, const Rows& rows,
                              const Centring& centring) {
  const std::size_t n = column.values.size();
  // Even and odd entries have separate sums, to halve the latency of additions.
  double sums[2] = {}, weights[2] = {}, squares[2] = {};
  for (std::size_t k = 0; k < n; ++k) {
    const double weight = rows.weight_of(static_cast<std::size_t>(column.indices[k]));
    const double value = static_cast<double>(column.values[k]);
    weights[k % 2] += weight;
    sums[k % 2] += weight * value;
    squares[k % 2] += weight * value * value;
  }
  // The centred moment directly: the difference of the raw one and sum^2/H would cancel.
  const double weighted_sum = sums[0] + sums[1];
  const double mean = weighted_sum / centring.weight_total();
  // Both sums are rounded in different orders: a smaller difference is no weight of a row.
  constexpr double kRoundingError = 1e-13;  // share of the total weight; safeguard
  double rest = centring.weight_total() - (weights[0] + weights[1]);
  if (rest <= kRoundingError * centring.weight_total()) rest = 0.0;
  double centred_squares[2] = {rest * mean * mean, 0.0};
  for (std::size_t k = 0; k < n; ++k) {
    const double weight = rows.weight_of(static_cast<std::size_t>(column.indices[k]));
    const double centred = static_cast<double>(column.values[k]) - mean;
    centred_squares[k % 2] += weight * centred * centred;
  }
  return {weighted_sum,
          centred_curvature(squares[0] + squares[1], centred_squares[0] + centred_squares[1])};
}

/// The moments of a column that has not been visited before, and its product with q.
template <class Scalar, class Index, class Rows>
double first_dot(Column<Scalar, Index>& column, const Rows& rows, const Centring& centring) {
  if (centring.present()) {
    column.moments = centred_moments(column, rows, centring);
    return rows.dot(column);
  }
  const Scalar* const value = column.values.data();
  const Index* const index = column.indices.data();
  double products[2] = {}, squares[2] = {};
  for (std::size_t k = 0; k < column.values.size(); ++k) {
    const auto row = static_cast<std::size_t>(index[k]);
    const double x = static_cast<double>(value[k]);
    products[k % 2] += x * rows.q_of(row);
    squares[k % 2] += rows.weight_of(row) * x * x;
  }
  column.moments = {0.0, squares[0] + squares[1]};
  return products[0] + products[1];
}

template <class Scalar, class Index, class Rows>
struct ColumnDescent {
  using RowsCopy = typename Rows::Copy;

  /// The same steps on other rows and another constant, for a thread of its own.
  ColumnDescent on_copy(Rows& own_rows, Centring& own_centring) const {
    return {columns, own_rows, w, penalties, own_centring, false};
  }

  std::span<Column<Scalar, Index>> columns;
  Rows& rows;
  std::span<double> w;
  Penalties penalties;
  Centring& centring;
  bool recentre_often;

  MINIMAND_INLINE void begin_full_sweep() {
    if (recentre_often) centring.recentre(rows);
  }

  MINIMAND_INLINE double step(std::size_t j) {
    Column<Scalar, Index>& column = columns[j];
    const double product =
        column.moments.known() ? rows.dot(column) : first_dot(column, rows, centring);
    const auto [weighted_sum, curvature] = column.moments;
    const double gradient = product - weighted_sum * centring.offset();
    const double moved = penalties.clipped(
        j, coordinate_minimiser(w[j], gradient, curvature, penalties.l1[j], penalties.l2[j]));
    const double delta = moved - w[j];
    if (delta == 0.0) return 0.0;
    w[j] = moved;
    rows.add(column, delta);
    centring.moved(weighted_sum, delta);
    return 0.5 * (curvature + penalties.l2[j]) * delta * delta;
  }
};

/// Sweeps on one thread, or shared among several where the columns store many numbers.
template <class Descent>
SweepReport sweep_columns(Descent& descent, std::size_t stored, std::size_t row_count,
                          StopRule stop) {
  std::vector<std::size_t> active(descent.w.size());
  // A part clears, copies and adds a number per row; entries are read and written in any order.
  const std::size_t parts = part_count(descent.columns.size(), 4 * stored, 4 * row_count);
  if (parts == 1) {
    return sweep_until_settled(one_by_one(descent, descent.w.size()), descent.w, active, stop);
  }
  std::vector<std::size_t> sizes(descent.columns.size());
  for (std::size_t j = 0; j < sizes.size(); ++j) sizes[j] = descent.columns[j].values.size();
  return sweep_until_settled(SweepsInParts<Descent>(descent, sizes, parts), descent.w, active,
                             stop);
}

template <class Scalar, class Index, class Rows>
SweepReport descend(std::span<Column<Scalar, Index>> columns, Rows& rows, std::size_t row_count,
                    std::span<double> w, Penalties penalties, Centring& centring, StopRule stop) {
  std::size_t stored = 0;
  for (const auto& column : columns) stored += column.values.size();
  // Columns with large means give q a large constant part, whose rounding errors would be larger
  // than the gradient. Only columns with many entries do, and then a pass over the rows is cheap.
  const bool recentre_often = 4 * stored >= row_count;
  ColumnDescent<Scalar, Index, Rows> descent{columns, rows, w, penalties, centring, recentre_often};
  const SweepReport report = sweep_columns(descent, stored, row_count, stop);
  centring.recentre(rows);
  return report;
}

}  // namespace

template <class Scalar, class Index>
ColumnsReport descend_columns(const Compressed<Scalar, Index>& matrix,
                              std::span<const std::int64_t> chosen, std::span<const double> h,
                              std::span<double> q, std::span<double> w, Penalties penalties,
                              bool centre, StopRule stop, std::span<ColumnMoments> moments) {
  Centring centring(centre, h, q);
  std::vector<Column<Scalar, Index>> columns;
  columns.reserve(chosen.size());
  for (std::size_t j = 0; j < chosen.size(); ++j) {
    const auto major = static_cast<std::size_t>(chosen[j]);
    const ColumnMoments known = moments.empty() ? ColumnMoments{} : moments[j];
    columns.push_back({matrix.values_of(major), matrix.indices_of(major), known});
  }
  SweepReport report;
  if (is_uniform(h)) {
    UniformRows rows{h.empty() ? 0.0 : h.front(), q};
    report = descend(std::span(columns), rows, h.size(), w, penalties, centring, stop);
  } else {
    WeightedRows rows(q, h);
    report = descend(std::span(columns), rows, h.size(), w, penalties, centring, stop);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = rows.rows[i].q;
  }
  for (std::size_t j = 0; j < moments.size(); ++j) moments[j] = columns[j].moments;
  return {centring.shift(), report};
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                                                     \
  template ColumnsReport descend_columns(                                                       \
      const Compressed<Scalar, Index>&, std::span<const std::int64_t>, std::span<const double>, \
      std::span<double>, std::span<double>, Penalties, bool, StopRule, std::span<ColumnMoments>);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)

}  // namespace minimand
