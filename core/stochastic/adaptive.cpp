#include <cmath>

#include "stochastic/passes.hpp"

namespace minimand {
namespace {

constexpr double kUnseen = 1e200;  // 1/|x|; convention: a larger inverse marks an unseen column
// Share by which a coefficient may be too large because l2 steps are delayed and taken together;
// safeguard. The steps of an l1 penalty are not delayed, so that zeros are exact.
constexpr double kDelay = 1.0 / 64;

template <class Matrix, class V>
struct AdaptiveGroup : Share<V> {
  using Row = RowOf<Matrix>;
  const StochasticPass& pass;
  Fields<Row::kSparse, V, AdaptiveCounts> fields;
  Factors l1, l2;
  double delay;
  bool penalised;
  std::vector<double> ratios, held;  // scratch numbers per entry of a row

  AdaptiveGroup(const Matrix& matrix, const StochasticPass& all, std::size_t group)
      : Share<V>(all, group),
        pass(all),
        fields{AdaptiveCounts(), Share<V>::fields, all.features},
        l1(all.penalty.l1),
        l2(all.penalty.l2),
        delay(StochasticPenalty::strongest(all.penalty.l1) > 0.0 ? -1.0 : kDelay),
        penalised(delay < 0.0 || StochasticPenalty::strongest(all.penalty.l2) > 0.0),
        ratios(longest_row(matrix)),
        held(kModels<V> * ratios.size()) {}

  /// Whether nearly every row changes its coefficients, if only by the penalty.
  MINIMAND_INLINE bool touches_all() const {
    return penalised || pass.slopes.kind != SlopeKind::pieces;
  }

  template <class Own>
  MINIMAND_INLINE Own held_at(std::size_t k) const {
    return load_models<Own>(held.data() + k * kModels<V>);
  }

  /// x_j / (largest |x_j| so far) of every entry; the sum of their squares.
  MINIMAND_INLINE double normalise(const Row& row) {
    double* const ratio = ratios.data();
    for_each_entry<V>(
        row, MINIMAND_BODY(k, entry) {
          using Common = typename decltype(entry)::Common;
          const Common inverse = fields.template get<Common>(kInverse, row.column(k));
          store_models(ratio + k, entry.value(row, k) * inverse);
        });
    std::int64_t above = 0;
    for (std::size_t k = 0; k < row.size(); ++k) above |= std::abs(ratio[k]) > 1.0;
    if (above != 0) enlarge(row);
    return dot(ratio, ratio, row.size());
  }

  /// On entries larger than any before: rescales what was learnt with the old largest entry.
  void enlarge(const Row& row) {
    for (std::size_t k = 0; k < row.size(); ++k) {
      // A row may hold a column twice: the second entry uses the result of the first.
      const std::size_t j = row.column(k);
      const double before = fields.template get<double>(kInverse, j);
      ratios.data()[k] = row.value(k) * before;
      if (!(std::abs(ratios.data()[k]) > 1.0)) continue;
      const double inverse = 1.0 / std::abs(row.value(k));
      const double ratio = before < kUnseen ? inverse / before : 1.0;
      if (pass.options.rescale) {
        const V change = (ratio - 1.0) * fields.template get<V>(kValue, j);
        fields.move(j, change, this->scalars.held());
      }
      fields.set(kFastest, j, ratio * fields.template get<double>(kFastest, j));
      fields.set(kInverse, j, inverse);
      ratios.data()[k] = std::copysign(1.0, row.value(k));
    }
  }

  template <class Own, class Common>
  MINIMAND_INLINE static Own rate_of(Common inverse, Own squares) {
    const Own rate = inverse / root(squares);
    return squares > 0.0 ? rate : Own{};
  }

  /// 1 if the penalty's steps since the last update of a coefficient are due, else 0.
  template <class Entry>
  MINIMAND_INLINE typename Entry::Common late(const Row& row, std::size_t k, Entry) const {
    using Common = typename Entry::Common;
    const std::size_t j = row.column(k);
    const Common fastest = fields.template get<Common>(kFastest, j);
    const Common time = this->scalars.penalty_time() - fields.template get<Common>(kSeen, j);
    const Common one = same_models<Common>(1.0), zero{};
    const Common is = l2.of<Common>(j) * fastest * time > delay ? one : zero;
    return Entry::value(row, k) != 0.0 ? is : zero;
  }

  /// The rate of a coefficient: the stored fastest for one model, computed for several models.
  template <class Entry>
  MINIMAND_INLINE typename Entry::Own rate_at(std::size_t j, Entry) const {
    using Own = typename Entry::Own;
    if constexpr (kModels<V> == 1) {
      return fields.template get<Own>(kFastest, j);
    } else {
      return rate_of(fields.template get<double>(kInverse, j),
                     fields.template get<Own>(kSquares, j));
    }
  }

  /// The penalty's steps since the last update of a coefficient as one proximal step; late: 0 or 1.
  template <class Entry>
  MINIMAND_INLINE void catch_up(std::size_t j, typename Entry::Common late, double per_now,
                                Entry entry) {
    using Own = typename Entry::Own;
    using Common = typename Entry::Common;
    const double now = this->scalars.penalty_time(), sum = this->scalars.held();
    const Common seen = fields.template get<Common>(kSeen, j);
    const Own v = fields.template get<Own>(kValue, j);
    const Own time = rate_at(j, entry) * ((now - seen) * late);
    const Own left = positive_part(magnitude(v) - l1.of<Common>(j) * time);
    const Own s = l2.of<Common>(j) * time, wide = 6.0 + 4.0 * s;
    const Own share = 1.0 / ((1.0 + s) * wide);
    const Own shrunk = with_sign_of(v, left * (wide * share));  // left / (1 + s)
    // The average needs the mean of the coefficient over these steps: half of the l1 steps, and
    // log(1 + s) / s for l2, about (6 + s) / (6 + 4 s). Sums of t grow like the square of time.
    const Own half = 0.5 * (magnitude(v) + left);
    const Own between = with_sign_of(v, half * ((6.0 + s) * ((1.0 + s) * share)));
    const Common past = seen * per_now, since = late * sum * (1.0 - past * past);
    const Own lag = fields.template get<Own>(kLag, j);
    fields.set(kValue, j, shrunk);
    fields.set(kLag, j, lag + sum * (shrunk - v) + since * (v - between));
    fields.set(kSeen, j, seen + (now - seen) * late);
  }

  MINIMAND_INLINE void catch_up(const Row& row) {
    const double now = this->scalars.penalty_time();
    if (!(now > 0.0)) return;
    const double per_now = 1.0 / now;
    for_each_entry<V>(
        row, MINIMAND_BODY(k, entry) {
          const auto waiting = late(row, k, entry);
          if (greatest(waiting) > 0.0) catch_up(row.column(k), waiting, per_now, entry);
        });
  }

  /// Adds weight (slope x_j)^2 to the squares: held = rate x with the new rates.
  MINIMAND_INLINE void sharpen(const Row& row, V weight) {
    for_each_entry<V>(
        row, MINIMAND_BODY(k, entry) {
          using Own = typename decltype(entry)::Own;
          using Common = typename decltype(entry)::Common;
          const std::size_t j = row.column(k);
          const Common x = entry.value(row, k);
          const Own squares = fields.template get<Own>(kSquares, j) + weight * (x * x);
          fields.set(kSquares, j, squares);
          const Own rate = rate_of(fields.template get<Common>(kInverse, j), squares);
          if constexpr (Row::kSparse) {
            fields.set(kFastest, j, greatest(rate));
          } else {
            fields.set(kFastest, j, rate);
          }
          store_models(held.data() + k * kModels<V>, rate * x);
        });
  }

  /// sum of rate x^2.
  MINIMAND_INLINE V speed_of(const Row& row) const {
    if constexpr (Row::kSparse) {
      V sum{};
      for (std::size_t k = 0; k < row.size(); ++k) sum += held_at<V>(k) * row.value(k);
      return sum;
    } else {
      return row.dot(held);
    }
  }

  MINIMAND_INLINE void step(const Row& row, std::size_t i) {
    const StochasticScalars<V>& m = this->scalars;
    const StochasticOptions& o = pass.options;
    const double weight = pass.rows.weight.data()[i] * o.tick;
    m.norm() += weight * (normalise(row) + (o.intercept > 0.0 ? 1.0 : 0.0));
    m.steps() += weight;
    if (penalised) catch_up(row);
    const double eta = m.norm() > 0.0 ? o.eta * std::sqrt(m.steps() / m.norm()) : 0.0;
    learn(row, this->place(i), weight, eta);
    m.penalty_time() += eta * weight;
    if (m.steps() > o.average_from) m.average(weight * o.share(m.steps()));
  }

  /// x / largest is what the squares are sums of, so that units do not matter.
  MINIMAND_INLINE void learn(const Row& row, std::size_t place, double weight, double eta) {
    const StochasticScalars<V>& m = this->scalars;
    const V sign = load_models<V>(this->sign + place);
    const V z = fields.score(row) + m.b();
    const V t = sign * z - load_models<V>(this->shift + place);
    if (pass.options.add_up > 0.0) m.pay(pass.slopes.value(t));
    const V slope = pass.slopes.slope(place, t);
    if (!any_nonzero(slope)) return;
    const V squares = weight * slope * slope;
    sharpen(row, squares);
    V speed = speed_of(row), b_rate{};
    if (pass.options.intercept > 0.0) {
      const V sum = m.b_squares() + squares;
      m.set_b_squares(sum);
      b_rate = sum > 0.0 ? 1.0 / root(sum) : V{};
      speed += b_rate;
    }
    const V moves = slope != 0.0 ? speed : V{};  // without a slope the model does not move
    const V moved = pass.slopes.flow(place, t, moves * (eta * weight)) - t;
    const V factor = moves > 0.0 ? sign * moved / speed : V{};
    const double sum = m.held();
    for_each_entry<V>(
        row, MINIMAND_BODY(k, entry) {
          using Own = typename decltype(entry)::Own;
          fields.move(row.column(k), factor * held_at<Own>(k), sum);
        });
    m.set_b(m.b() + factor * b_rate);
  }
};

#define MINIMAND_KERNEL(Matrix, V)                                                       \
  MINIMAND_CLONES void adaptive_kernel(const Matrix& matrix, const StochasticPass& pass, \
                                       std::span<AdaptiveGroup<Matrix, V>> groups) {     \
    visit_rows(matrix, pass, groups);                                                    \
  }
#define MINIMAND_ONE(Matrix) MINIMAND_KERNEL(Matrix, double)
#define MINIMAND_MANY(Matrix) MINIMAND_KERNEL(Matrix, Many)
MINIMAND_FOR_EACH_ROWS(MINIMAND_ONE)
MINIMAND_FOR_EACH_SPARSE_ROWS(MINIMAND_MANY)

}  // namespace

template <class V>
template <class Matrix>
void AdaptiveStep<V>::run(const Matrix& matrix, const StochasticPass& pass) {
  using Group = AdaptiveGroup<Matrix, V>;
  run_groups<Group>(matrix, pass,
                    [](const Matrix& m, const StochasticPass& p, std::span<Group> groups) {
                      adaptive_kernel(m, p, groups);
                    });
}

#define MINIMAND_RUN_ONE(Matrix) \
  template void AdaptiveStep<double>::run(const Matrix&, const StochasticPass&);
#define MINIMAND_RUN_MANY(Matrix) \
  template void AdaptiveStep<Many>::run(const Matrix&, const StochasticPass&);
MINIMAND_FOR_EACH_ROWS(MINIMAND_RUN_ONE)
MINIMAND_FOR_EACH_SPARSE_ROWS(MINIMAND_RUN_MANY)

}  // namespace minimand
