#include <cmath>

#include "lanes.hpp"
#include "stochastic/passes.hpp"

namespace minimand {
namespace {

constexpr double kUnseen = 1e200;  // a larger inverse says that a column had no entry yet

template <class Row>
struct AdaptivePass {
  Row row;
  const StochasticPass& pass;
  Fields<Row::kPacked> fields;
  std::span<double> x, held;  // the row, and numbers that go with its entries
  bool penalised;

  MINIMAND_INLINE bool any_above_one(std::size_t size) const {
    std::int64_t above = 0;
    const double* const ratios = held.data();
    for (std::size_t k = 0; k < size; ++k) above |= std::abs(ratios[k]) > 1.0;
    return above != 0;
  }

  /// x_j / (largest |x_j| so far) of every entry; the sum of their squares.
  MINIMAND_INLINE double normalise(std::size_t size) {
    for_each_entry<Row>(
        size, MINIMAND_BODY(k) {
          x.data()[k] = row.value(k);
          held.data()[k] = x.data()[k] * fields.at(kInverse, row.column(k));
        });
    if (any_above_one(size)) enlarge(size);
    return dot(held.data(), held.data(), size);
  }

  /// Larger entries than ever: what was learnt in other units is put into the new ones.
  void enlarge(std::size_t size) {
    for (std::size_t k = 0; k < size; ++k) {
      const std::size_t j = row.column(k);
      if (std::abs(held.data()[k]) > 1.0) {
        const double inverse = 1.0 / std::abs(x.data()[k]);
        const double before = fields.at(kInverse, j);
        const double ratio = before < kUnseen ? inverse / before : 1.0;
        const double change = (ratio - 1.0) * fields.at(kValue, j);
        fields.at(kValue, j) += change;
        fields.at(kLag, j) += pass.memory.held() * change;
        fields.at(kRate, j) *= ratio;
        fields.at(kInverse, j) = inverse;
        held.data()[k] = std::copysign(1.0, x.data()[k]);
      }
    }
  }

  /// The penalty's steps since a coefficient was met last, as one proximal step.
  MINIMAND_INLINE void catch_up(std::size_t size) {
    const double now = pass.memory.penalty_time(), sum = pass.memory.held();
    const double inverse = now > 0.0 ? 1.0 / now : 0.0;
    const double* const l1 = pass.penalty.l1.data();
    const double* const l2 = pass.penalty.l2.data();
    const std::size_t mask1 = pass.penalty.l1.size() == 1 ? 0 : ~std::size_t{0};
    const std::size_t mask2 = pass.penalty.l2.size() == 1 ? 0 : ~std::size_t{0};
    for_each_entry<Row>(
        size, MINIMAND_BODY(k) {
          const std::size_t j = row.column(k);
          const bool met = x.data()[k] != 0.0;
          const double seen = fields.at(kSeen, j), v = fields.at(kValue, j);
          const double time = met ? fields.at(kRate, j) * (now - seen) : 0.0;
          const double left = std::abs(v) - l1[j & mask1] * time;
          const double kept = left > 0.0 ? std::copysign(left, v) : 0.0;
          const double shrunk = kept / (1.0 + l2[j & mask2] * time);
          fields.at(kValue, j) = shrunk;
          // Between the two it was about their geometric mean, which is what the average must hold:
          // sums of t grow like the square of the time.
          const double past = seen * inverse, since = sum * (1.0 - past * past);
          const double between = std::copysign(std::sqrt(v * shrunk), v);
          fields.at(kLag, j) += sum * (shrunk - v) + since * (v - between);
          fields.at(kSeen, j) = met ? now : seen;
        });
  }

  /// Adds weight (slope x_j)^2 to the squares: new rates, held = rate x, and sum of rate x^2.
  MINIMAND_INLINE double sharpen(std::size_t size, double weight) {
    for_each_entry<Row>(
        size, MINIMAND_BODY(k) {
          const std::size_t j = row.column(k);
          const double value = x.data()[k];
          const double squares = fields.at(kSquares, j) + weight * value * value;
          fields.at(kSquares, j) = squares;
          const double rate = squares > 0.0 ? fields.at(kInverse, j) / std::sqrt(squares) : 0.0;
          fields.at(kRate, j) = rate;
          held.data()[k] = rate * value;
        });
    return dot(held.data(), x.data(), size);
  }

  MINIMAND_INLINE void step(std::size_t i) {
    const StochasticMemory& m = pass.memory;
    const StochasticOptions& o = pass.options;
    row.move_to(i);
    const std::size_t size = row.size();
    const double weight = pass.rows.weight.data()[i] * o.tick;
    m.norm() += weight * (normalise(size) + (o.intercept ? 1.0 : 0.0));
    m.steps() += weight;
    if (penalised) catch_up(size);
    for_each_entry<Row>(
        size, MINIMAND_BODY(k) { held.data()[k] = fields.at(kValue, row.column(k)); });
    const double sign = pass.rows.sign.data()[i];
    const double z = dot(x.data(), held.data(), size) + m.b();
    const double t = sign * z - pass.rows.shift.data()[i];
    const double slope = pass.slopes.slope(i, t);
    const double eta = m.norm() > 0.0 ? o.eta * std::sqrt(m.steps() / m.norm()) : 0.0;
    if (slope != 0.0) {
      // x / largest is what the squares are sums of, so that units do not matter.
      double speed = sharpen(size, weight * slope * slope);
      double b_rate = 0.0;
      if (o.intercept) {
        m.b_squares() += weight * slope * slope;
        b_rate = 1.0 / std::sqrt(m.b_squares());
        speed += b_rate;
      }
      if (speed > 0.0) {
        const double moved = pass.slopes.flow(i, t, speed * eta * weight) - t;
        const double factor = sign * moved / speed, sum = m.held();
        for_each_entry<Row>(
            size, MINIMAND_BODY(k) {
              const std::size_t j = row.column(k);
              const double change = factor * held.data()[k];
              fields.at(kValue, j) += change;
              fields.at(kLag, j) += sum * change;
            });
        m.b() += factor * b_rate;
      }
    }
    m.penalty_time() += eta * weight;
    if (m.steps() > o.average_from) {
      const double p = o.average_power;
      const double c = weight * (p == 0.0 ? 1.0 : p == 1.0 ? m.steps() : std::pow(m.steps(), p));
      m.held() += c;
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
  MINIMAND_CLONES void kernel(AdaptivePass<Row>& pass) { pass.run(); }
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
  const StochasticPenalty& penalty = pass.penalty;
  const bool penalised = penalty.strongest(penalty.l1) > 0.0 || penalty.strongest(penalty.l2) > 0.0;
  AdaptivePass<Row> adaptive{row, pass, {pass.fields, pass.features, kInverse + 1},
                             x,   held, penalised};
  kernel(adaptive);
}

}  // namespace

template <class Scalar, class Index>
void adaptive_pass(const Compressed<Scalar, Index>& matrix, const StochasticPass& pass) {
  run(SparseRow<Scalar, Index>{matrix}, pass);
}

template <class Scalar>
void adaptive_pass(const DenseMatrix<Scalar>& matrix, const StochasticPass& pass) {
  run(DenseRow<Scalar>{matrix}, pass);
}

#define MINIMAND_INSTANTIATE(Scalar, Index) \
  template void adaptive_pass(const Compressed<Scalar, Index>&, const StochasticPass&);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)
template void adaptive_pass(const DenseMatrix<float>&, const StochasticPass&);
template void adaptive_pass(const DenseMatrix<double>&, const StochasticPass&);

}  // namespace minimand
