#include <algorithm>
#include <cmath>

#include "lanes.hpp"
#include "stochastic/passes.hpp"

namespace minimand {
namespace {

constexpr double kSmallestScale = 1e-9;
constexpr double kSteepest = 1e12;  // of a slope: steps that are too long end far away, not at inf

template <class Row>
struct PlainPass {
  Row row;
  const StochasticPass& pass;
  Fields<Row::kPacked> fields;
  std::span<double> x, held;  // the row, and what it meets
  double l2;
  bool sparse_penalty;

  MINIMAND_INLINE double step_size() const {
    const StochasticOptions& o = pass.options;
    const double t = o.t0 + pass.memory.steps();
    if (o.power == 0.0) return o.eta;
    if (o.power == 1.0) return o.eta / t;
    if (o.power == 0.5) return o.eta / std::sqrt(t);
    return o.eta * std::pow(t, -o.power);
  }

  /// Shrinks by the l1 steps since the coefficient was met last.
  MINIMAND_INLINE void catch_up(std::size_t size) {
    const double now = pass.memory.penalty_time(), sum = pass.memory.held();
    const double* const l1 = pass.penalty.l1.data();
    const std::size_t mask = pass.penalty.l1.size() == 1 ? 0 : ~std::size_t{0};
    for_each_entry<Row>(
        size, MINIMAND_BODY(k) {
          const std::size_t j = row.column(k);
          const double v = fields.at(kValue, j);
          const double left = std::abs(v) - l1[j & mask] * (now - fields.at(kSeen, j));
          const double shrunk = left > 0.0 ? std::copysign(left, v) : 0.0;
          fields.at(kValue, j) = shrunk;
          fields.at(kLag, j) += sum * (shrunk - v);
          fields.at(kSeen, j) = now;
        });
  }

  /// v = w, scale = 1: before the scale underflows, or after it became zero.
  void renormalise() {
    const StochasticMemory& m = pass.memory;
    const double scale = m.scale();
    for (std::size_t j = 0; j < pass.features; ++j) {
      double v = fields.at(kValue, j);
      if (sparse_penalty) {
        const double l1 = pass.penalty.l1.size() == 1 ? pass.penalty.l1[0] : pass.penalty.l1[j];
        const double left = std::abs(v) - l1 * (m.penalty_time() - fields.at(kSeen, j));
        const double shrunk = left > 0.0 ? std::copysign(left, v) : 0.0;
        fields.at(kLag, j) += m.held() * (shrunk - v);
        v = shrunk;
      }
      fields.at(kLag, j) -= m.held() * v;
      fields.at(kValue, j) = scale * v;
      fields.at(kSeen, j) = 0.0;
    }
    m.held() = 0.0;
    m.penalty_time() = 0.0;
    m.scale() = 1.0;
  }

  MINIMAND_INLINE void shrink(double step) {
    if (!(l2 > 0.0)) return;
    const double factor = 1.0 - step * l2;
    const double scale = pass.memory.scale();
    pass.memory.scale() = factor > 0.0 ? scale * factor : 0.0;
    if (pass.memory.scale() < kSmallestScale) renormalise();
  }

  MINIMAND_INLINE void step(std::size_t i) {
    const StochasticMemory& m = pass.memory;
    row.move_to(i);
    const std::size_t size = row.size();
    if (sparse_penalty) catch_up(size);
    for_each_entry<Row>(
        size, MINIMAND_BODY(k) {
          x.data()[k] = row.value(k);
          held.data()[k] = fields.at(kValue, row.column(k));
        });
    const double sign = pass.rows.sign.data()[i];
    const double z = m.scale() * dot(x.data(), held.data(), size) + m.b();
    const double t = sign * z - pass.rows.shift.data()[i];
    const double steep = std::clamp(pass.slopes.slope(i, t), -kSteepest, kSteepest);
    const double slope = sign * steep * pass.rows.weight.data()[i];
    m.steps() += pass.options.tick;
    const double eta = step_size() * pass.options.tick;
    shrink(eta);
    if (slope != 0.0) {
      const double factor = -eta * slope / m.scale(), sum = m.held();
      for_each_entry<Row>(
          size, MINIMAND_BODY(k) {
            const std::size_t j = row.column(k);
            const double change = factor * x.data()[k];
            fields.at(kValue, j) += change;
            fields.at(kLag, j) += sum * change;
          });
      if (pass.options.intercept) m.b() -= eta * slope;
    }
    if (sparse_penalty) m.penalty_time() += eta / m.scale();
    if (m.steps() > pass.options.average_from) {
      const double power = pass.options.average_power;
      const double c = power == 0.0 ? 1.0 : power == 1.0 ? m.steps() : std::pow(m.steps(), power);
      m.held() += c * m.scale();
      m.b_sum() += c * m.b();
      m.count() += c;
    }
  }

  MINIMAND_INLINE void run() {
    const std::span<const std::uint32_t> order = pass.rows.order;
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (k + 3 < order.size()) row.fetch(order.data()[k + 3]);
      if (k + 1 < order.size()) row.fetch_fields(order.data()[k + 1], pass.fields, fields.fields);
      step(order.data()[k]);
    }
  }
};

#define MINIMAND_KERNEL(Row) \
  MINIMAND_CLONES void kernel(PlainPass<Row>& pass) { pass.run(); }
#define MINIMAND_SPARSE_KERNEL(Scalar, Index)                   \
  using Row_##Scalar##_##Index = SparseRow<Scalar, std::Index>; \
  MINIMAND_KERNEL(Row_##Scalar##_##Index)
MINIMAND_SPARSE_KERNEL(float, int32_t)
MINIMAND_SPARSE_KERNEL(float, int64_t)
MINIMAND_SPARSE_KERNEL(double, int32_t)
MINIMAND_SPARSE_KERNEL(double, int64_t)
MINIMAND_KERNEL(DenseRow<float>)
MINIMAND_KERNEL(DenseRow<double>)

template <class Row>
void run(Row row, const StochasticPass& pass) {
  std::vector<double> x(row.longest()), held(row.longest());
  PlainPass<Row> plain{row,
                       pass,
                       {pass.fields, pass.features, kSeen + 1},
                       x,
                       held,
                       pass.penalty.strongest(pass.penalty.l2),
                       pass.penalty.strongest(pass.penalty.l1) > 0.0};
  kernel(plain);
}

}  // namespace

template <class Scalar, class Index>
void plain_pass(const Compressed<Scalar, Index>& matrix, const StochasticPass& pass) {
  run(SparseRow<Scalar, Index>{matrix}, pass);
}

template <class Scalar>
void plain_pass(const DenseMatrix<Scalar>& matrix, const StochasticPass& pass) {
  run(DenseRow<Scalar>{matrix}, pass);
}

#define MINIMAND_INSTANTIATE(Scalar, Index) \
  template void plain_pass(const Compressed<Scalar, Index>&, const StochasticPass&);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)
template void plain_pass(const DenseMatrix<float>&, const StochasticPass&);
template void plain_pass(const DenseMatrix<double>&, const StochasticPass&);

}  // namespace minimand
