#include <cmath>

#include "stochastic/passes.hpp"

namespace minimand {
namespace {

constexpr double kSmallestScale = 1e-9;  // factor; safeguard against underflow
constexpr double kSteepest = 1e12;       // largest slope; safeguard: too long steps do not overflow

template <class Matrix, class V>
struct PlainGroup : Share<V> {
  using Row = RowOf<Matrix>;
  const StochasticPass& pass;
  Fields<Row::kSparse, V, PlainCounts> fields;
  Factors l1;
  double strongest;  // of the l1 factors
  double l2;
  bool sparse_penalty, averaged, measures;

  PlainGroup(const Matrix&, const StochasticPass& all, std::size_t group)
      : Share<V>(all, group),
        pass(all),
        fields{PlainCounts(all.own), Share<V>::fields, all.features},
        l1(all.penalty.l1),
        strongest(StochasticPenalty::strongest(all.penalty.l1)),
        l2(StochasticPenalty::strongest(all.penalty.l2)),
        sparse_penalty(all.own > kReceived && strongest > 0.0),
        averaged(all.own > kLag),
        measures(all.options.add_up > 0.0 && (strongest > 0.0 || l2 > 0.0)) {}

  /// Whether nearly every row changes its coefficients; with a hinge many rows do not.
  MINIMAND_INLINE bool touches_all() const {
    return sparse_penalty || pass.slopes.kind != SlopeKind::pieces;
  }

  MINIMAND_INLINE double step_size(double steps) const {
    const StochasticOptions& o = pass.options;
    const double t = o.t0 + steps;
    if (o.power == 0.0) return o.eta;
    if (o.power == 1.0) return o.eta / t;
    if (o.power == 0.5) return o.eta / std::sqrt(t);
    if (o.power == 0.25) return o.eta / std::sqrt(std::sqrt(t));
    return o.eta * std::pow(t, -o.power);
  }

  /// Applies the l1 steps that a coefficient has missed, at most down to zero. The clock is the sum
  /// of steps of the strongest factor, so that a change of the factors does not change what was due
  /// before.
  template <class Entry>
  MINIMAND_INLINE void catch_up(std::size_t j, Entry) const {
    using Own = typename Entry::Own;
    using Common = typename Entry::Common;
    const double held = this->scalars.held(), clock = this->scalars.penalty_time();
    const Own v = fields.template get<Own>(kValue, j), size = magnitude(v);
    const Own received = fields.template get<Own>(kReceived, j);
    const Common share = l1.of<Common>(j) / strongest;
    const Own debt = positive_part(share * clock + with_sign_of(v, received));
    const Own now = with_sign_of(v, positive_part(size - debt));
    const Common recent = share * (clock - fields.template get<Common>(kSeen, j));
    const Own less = shortfall(size, debt, recent, share * this->scalars.last());
    const Common since = held - fields.template get<Common>(kHeldThen, j);
    const Own lag = fields.template get<Own>(kLag, j) + with_sign_of(v, less * since);
    fields.set(kLag, j, lag + held * (now - v));
    fields.set(kValue, j, now);
    fields.set(kReceived, j, received + (now - v));
    fields.set(kSeen, j, same_models<Common>(clock));
    fields.set(kHeldThen, j, same_models<Common>(held));
  }

  /// The mean decrease of a coefficient since its last update: first by the l1 steps missed before,
  /// then by `each` more at every step until zero.
  template <class Own, class Common>
  MINIMAND_INLINE static Own shortfall(Own size, Own debt, Common recent, Common each) {
    const Own before = positive_part(debt - recent), grown = debt - before;
    const Own rest = positive_part(size - before), one = Own{} + 1.0;
    const Own gone = rest - 0.5 * rest * (rest - each) / (grown > 0.0 ? grown : one);
    const Own less = grown < rest ? 0.5 * (grown + each) : gone;
    const Own growing = grown > 0.0 ? (less < rest ? less : rest) : Own{};
    return size - rest + growing;
  }

  /// v = w, scale = 1: before the scale underflows, or after it became zero.
  void renormalise() const {
    const StochasticScalars<V>& m = this->scalars;
    const double scale = m.scale();
    for (std::size_t j = 0; j < pass.features; ++j) {
      const V v = fields.template get<V>(kValue, j);
      if (averaged) fields.set(kLag, j, fields.template get<V>(kLag, j) - m.held() * v);
      fields.set(kValue, j, scale * v);
      if (fields.counts.own <= kReceived) continue;
      fields.set(kReceived, j, scale * fields.template get<V>(kReceived, j));
      fields.set(kSeen, j, scale * fields.template get<double>(kSeen, j));
      const double since = m.held() - fields.template get<double>(kHeldThen, j);
      fields.set(kHeldThen, j, scale > 0.0 ? -since / scale : 0.0);
    }
    m.held() = 0.0;
    m.measured(scale * scale * m.squares(), scale * m.magnitudes());
    m.penalty_time() *= scale;
    m.last() *= scale;
    m.scale() = 1.0;
  }

  MINIMAND_INLINE void shrink(double step) const {
    if (!(l2 > 0.0)) return;
    const double factor = 1.0 - step * l2;
    const double scale = this->scalars.scale();
    this->scalars.scale() = factor > 0.0 ? scale * factor : 0.0;
    if (this->scalars.scale() < kSmallestScale) renormalise();
  }

  /// What the row pays besides its loss: the penalty of the coefficients that moved last, as
  /// scikit-learn counts it. Of a sparse row these are only those of its entries.
  MINIMAND_INLINE V due() const {
    const StochasticScalars<V>& m = this->scalars;
    const double ridge = 0.5 * l2 * m.scale() * m.scale(), lasso = strongest * m.scale();
    return pass.options.add_up * (ridge * m.squares() + lasso * m.magnitudes());
  }

  /// v += factor x, and the sums over these coefficients; four independent
  /// ones hide the latency of additions.
  MINIMAND_INLINE void move_and_measure(const Row& row, V factor) const {
    constexpr std::size_t kSums = 4;       // sums; safeguard: any number of them is right
    constexpr bool kMoves = Row::kSparse;  // vectors of a dense row move faster by themselves
    if (!kMoves || averaged) move(row, factor);
    V squares[kSums] = {}, magnitudes[kSums] = {};
    const auto near = fields;  // no store can change a copy, so that it stays in registers
    const bool moves = kMoves && !averaged, lasso = strongest > 0.0;
    const auto add = [&](std::size_t k, std::size_t s) __attribute__((always_inline)) {
      const std::size_t j = row.column(k);
      V v = near.template get<V>(kValue, j);
      if (moves) {
        v += factor * row.value(k);
        near.set(kValue, j, v);
      }
      squares[s] += v * v;
      if (lasso) magnitudes[s] += magnitude(v);
    };
    const std::size_t size = row.size();
    std::size_t k = 0;
    for (; k + kSums <= size; k += kSums) {
      for (std::size_t s = 0; s < kSums; ++s) add(k + s, s);
    }
    for (; k < size; ++k) add(k, 0);
    this->scalars.measured((squares[0] + squares[1]) + (squares[2] + squares[3]),
                           (magnitudes[0] + magnitudes[1]) + (magnitudes[2] + magnitudes[3]));
  }

  MINIMAND_INLINE V slope_at(const Row& row, std::size_t i) const {
    const std::size_t place = this->place(i);
    const V sign = load_models<V>(this->sign + place);
    const V z = this->scalars.scale() * fields.score(row) + this->scalars.b();
    const V t = sign * z - load_models<V>(this->shift + place);
    if (pass.options.add_up > 0.0) this->scalars.pay(pass.slopes.value(t) + due());
    V slope = pass.slopes.slope(place, t);
    slope = slope > kSteepest ? same_models<V>(kSteepest) : slope;
    slope = slope < -kSteepest ? same_models<V>(-kSteepest) : slope;
    return sign * slope * pass.rows.weight.data()[i];
  }

  MINIMAND_INLINE void step(const Row& row, std::size_t i) const {
    const StochasticScalars<V>& m = this->scalars;
    const StochasticOptions& o = pass.options;
    if (sparse_penalty) {
      for_each_entry<V>(row, MINIMAND_BODY(k, entry) { catch_up(row.column(k), entry); });
    }
    const V slope = slope_at(row, i);
    m.steps() += o.tick;
    const double eta = step_size(m.steps()) * o.tick;
    shrink(eta);
    if (any_nonzero(slope)) {
      const V factor = -eta * slope / m.scale();
      measures ? move_and_measure(row, factor) : move(row, factor);
      if (o.intercept > 0.0) m.set_b(m.b() - o.intercept * intercept_step(eta) * slope);
    }
    if (sparse_penalty) {
      m.last() = strongest * eta / m.scale();
      m.penalty_time() += m.last();
    }
    if (m.steps() > o.average_from) m.average(o.share(m.steps()));
  }

  /// v += factor x.
  MINIMAND_INLINE void move(const Row& row, V factor) const {
    const double held = this->scalars.held();
    const auto near = fields;  // as above
    if (averaged) {
      for_each_entry<V>(
          row, MINIMAND_BODY(k, entry) {
            near.move(row.column(k), factor * entry.value(row, k), held);
          });
    } else {
      for_each_entry<V>(
          row, MINIMAND_BODY(k, entry) {
            using Own = typename decltype(entry)::Own;
            const std::size_t j = row.column(k);
            const Own v = near.template get<Own>(kValue, j);
            near.set(kValue, j, v + factor * entry.value(row, k));
          });
    }
  }

  /// The step of the intercept, bounded: a schedule that begins at 1 / l2 starts with long steps,
  /// and no penalty shrinks the intercept.
  MINIMAND_INLINE double intercept_step(double eta) const {
    const StochasticOptions& o = pass.options;
    const double most = o.intercept_step * o.tick / std::sqrt(this->scalars.steps());
    return eta < most ? eta : most;
  }
};

#define MINIMAND_KERNEL(Matrix, V)                                                    \
  MINIMAND_CLONES void plain_kernel(const Matrix& matrix, const StochasticPass& pass, \
                                    std::span<PlainGroup<Matrix, V>> groups) {        \
    visit_rows(matrix, pass, groups);                                                 \
  }
#define MINIMAND_ONE(Matrix) MINIMAND_KERNEL(Matrix, double)
#define MINIMAND_MANY(Matrix) MINIMAND_KERNEL(Matrix, Many)
MINIMAND_FOR_EACH_ROWS(MINIMAND_ONE)
MINIMAND_FOR_EACH_SPARSE_ROWS(MINIMAND_MANY)

}  // namespace

template <class V>
template <class Matrix>
void PlainStep<V>::run(const Matrix& matrix, const StochasticPass& pass) {
  using Group = PlainGroup<Matrix, V>;
  run_groups<Group>(matrix, pass,
                    [](const Matrix& m, const StochasticPass& p, std::span<Group> groups) {
                      plain_kernel(m, p, groups);
                    });
}

#define MINIMAND_RUN_ONE(Matrix) \
  template void PlainStep<double>::run(const Matrix&, const StochasticPass&);
#define MINIMAND_RUN_MANY(Matrix) \
  template void PlainStep<Many>::run(const Matrix&, const StochasticPass&);
MINIMAND_FOR_EACH_ROWS(MINIMAND_RUN_ONE)
MINIMAND_FOR_EACH_SPARSE_ROWS(MINIMAND_RUN_MANY)

}  // namespace minimand
