#include <algorithm>
#include <cmath>
#include <limits>

#include "stochastic/passes.hpp"

// Perceptron and passive-aggressive steps share the visits to rows, the losses, the scalars and the
// bindings with the other stochastic steps. Two things keep their arithmetic apart from plain.cpp:
// - Whether a score is exactly 0 decides what a perceptron does next, so that this file is compiled
//   without fused products and sums (see CMakeLists.txt).
// - The l1 norm takes what it is owed after a step, and only from the features of the row, as in
//   scikit-learn; plain steps let it take all of that before the score is computed.
namespace minimand {
namespace {

template <class Row>
MINIMAND_INLINE bool is_zero(const Row& row) {
  for (std::size_t k = 0; k < row.size(); ++k) {
    if (row.value(k) != 0.0) return false;
  }
  return true;
}

/// The weights as scale * v, so that shrinking all of them is one product.
struct Weights {
  std::span<double> v;
  double scale = 1.0;
  double squares = 0.0;    // |w|^2
  double magnitude = 0.0;  // |w|_1

  MINIMAND_INLINE void shrink(double factor) {
    scale *= factor;
    squares *= factor * factor;
    magnitude *= factor;
    if (scale < 1e-9) fold();
  }
  MINIMAND_INLINE void fold() {
    for (double& value : v) value *= scale;
    scale = 1.0;
  }
  MINIMAND_INLINE void measure() {
    squares = magnitude = 0.0;
    for (const double value : v) {
      squares += value * value;
      magnitude += std::abs(value);
    }
  }
  MINIMAND_INLINE void set(std::size_t j, double value) {
    const double old = scale * v.data()[j];
    squares += value * value - old * old;
    magnitude += std::abs(value) - std::abs(old);
    v.data()[j] = value / scale;
  }
};

/// The l1 norm takes from the features of a row what they owe since it last met them.
template <class Row>
MINIMAND_INLINE void settle(const Row& row, double owed, std::span<double> taken, Weights& w) {
  for (std::size_t k = 0; k < row.size(); ++k) {
    const std::size_t j = row.column(k);
    const double old = w.scale * w.v.data()[j];
    if (old == 0.0) continue;
    const double left = old > 0.0 ? std::max(0.0, old - (owed + taken.data()[j]))
                                  : std::min(0.0, old + (owed - taken.data()[j]));
    w.set(j, left);
    taken.data()[j] += left - old;
  }
}

/// One model; its numbers lie field by field, whether rows are dense or not.
template <class Matrix>
struct OnlineGroup : Share<double> {
  using Row = RowOf<Matrix>;

  /// The coefficients, as `visit_rows` asks for them ahead of time.
  struct Coefficients {
    std::span<double> v, lag, taken;  // the last two may be empty

    MINIMAND_INLINE void fetch(const Row& row, bool) const {
      const std::size_t size = row.size() < 512 ? row.size() : 512;
      for (std::size_t k = 0; k < size; ++k) __builtin_prefetch(v.data() + row.column(k), 1);
    }
  };

  const StochasticPass& pass;
  Coefficients fields;
  Weights w;
  double ridge, lasso;
  bool penalised;
  double b, b_lag, steps, count, owed;
  double paid = 0.0;

  OnlineGroup(const Matrix&, const StochasticPass& all, std::size_t group)
      : Share<double>(all, group),
        pass(all),
        fields{field(kValue), field(kLag), field(kReceived)},
        w{fields.v},
        ridge(StochasticPenalty::strongest(all.penalty.l2)),
        lasso(StochasticPenalty::strongest(all.penalty.l1)),
        penalised(ridge > 0.0 || lasso > 0.0),
        b(scalars.b()),
        b_lag(*scalars.at(1)),
        steps(scalars.steps()),
        count(scalars.count()),
        owed(scalars.penalty_time()) {}

  std::span<double> field(ModelField which) const {
    if (pass.own <= which) return {};
    return {Share<double>::fields + which * pass.features, pass.features};
  }

  MINIMAND_INLINE bool touches_all() const { return true; }

  /// Of a dense row its beginning only: most rows move nothing, and to ask for all of a long row
  /// would take as long as its score (measured: 500 columns that lie in the cache).
  MINIMAND_INLINE static void fetch_row(const Row& row) {
    constexpr std::size_t kBegin = 64;  // numbers
    if constexpr (Row::kSparse) {
      row.fetch();
    } else {
      fetch_ahead(row.values.data(), row.size() < kBegin ? row.size() : kBegin);
    }
  }

  MINIMAND_INLINE double step_length(const Row& row, double loss) const {
    const double rate = pass.options.eta;
    if (pass.options.rule == StepRule::perceptron) return rate;
    const bool second = pass.options.rule == StepRule::pa2;
    const double size = square(row);
    const double whole = second ? size + 0.5 / rate : size;
    if (whole == 0.0) return 0.0;  // a row of zeros, and no limit to C
    return second ? loss / whole : std::min(rate, loss / whole);
  }

  MINIMAND_INLINE void step(const Row& row, std::size_t i) {
    const StochasticOptions& o = pass.options;
    const std::size_t at = place(i);
    const double score = sign[at] * (w.scale * row.dot(w.v) + b) - shift[at];
    // An overflown score still has its sign, but 0 * inf in a flat piece would have none.
    constexpr double kMost = std::numeric_limits<double>::max();
    const double t = std::clamp(score, -kMost, kMost);
    // A score that is no number, as a difference of two overflows, moves nothing.
    const double slope = std::isnan(t) ? 0.0 : sign[at] * pass.slopes.slope(at, t);
    const double loss = slope != 0.0 ? positive_part(pass.slopes.value(t)) : 0.0;
    if (o.add_up > 0.0) {
      paid += loss + o.add_up * (0.5 * ridge * w.squares + lasso * w.magnitude);
    }
    if (o.rule == StepRule::pa1 && is_zero(row)) return;  // no change of w can mend its loss
    if (ridge > 0.0) w.shrink(std::max(0.0, 1.0 - o.eta * ridge));
    if (slope != 0.0) move(row, i, step_length(row, loss) * -slope * pass.rows.weight.data()[i]);
    if (lasso > 0.0) {
      owed += o.eta * lasso;
      settle(row, owed, fields.taken, w);
    }
    steps += 1.0;
    if (steps > o.average_from) count += 1.0;
  }

  /// The mean of K models is w - lag / K: a step that moves the model after k of them by u x is
  /// missing from these, and adds k u x to the lag.
  MINIMAND_INLINE void move(const Row& row, std::size_t i, double step) {
    if (step == 0.0) return;
    const double share = pass.options.intercept;
    if (penalised) {
      for (std::size_t k = 0; k < row.size(); ++k) {
        const std::size_t j = row.column(k);
        w.set(j, w.scale * w.v.data()[j] + step * row.value(k));
      }
    } else {
      row.add_to(w.v, step);
    }
    b += share * step;
    if (!pass.moves.empty()) pass.moves.data()[i] += 1.0;
    if (count > 0.0) {
      row.add_to(fields.lag, count * step);
      b_lag += count * share * step;
    }
  }

  /// Whether rows come as they lie: the processor then fetches them by itself, and asking for them
  /// would take a fifth of the time (measured: 10 columns, no mistakes).
  MINIMAND_INLINE bool in_line() const {
    const std::span<const std::uint32_t> order = pass.rows.order;
    for (std::size_t k = 1; k < order.size(); ++k) {
      if (order.data()[k] != order.data()[k - 1] + 1) return false;
    }
    return true;
  }

  /// One pass, with all single numbers at hand.
  MINIMAND_INLINE void visit(const Matrix& matrix) {
    if (penalised) w.measure();
    if (in_line()) {
      for (const std::uint32_t i : pass.rows.order) step(row_of(matrix, i), i);
    } else {
      visit_rows(matrix, pass, std::span<OnlineGroup>(this, 1));
    }
    w.fold();
    scalars.set_b(b);
    *scalars.at(1) = b_lag;
    scalars.steps() = steps;
    scalars.count() = count;
    scalars.penalty_time() = owed;
    scalars.pay(paid);
  }
};

#define MINIMAND_KERNEL(Matrix)                                               \
  MINIMAND_CLONES void online_kernel(const Matrix& matrix,                    \
                                     std::span<OnlineGroup<Matrix>> groups) { \
    for (const OnlineGroup<Matrix>& group : groups) {                         \
      OnlineGroup<Matrix> near = group;                                       \
      near.visit(matrix);                                                     \
    }                                                                         \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_KERNEL)

}  // namespace

template <class V>
template <class Matrix>
void OnlineStep<V>::run(const Matrix& matrix, const StochasticPass& pass) {
  using Group = OnlineGroup<Matrix>;
  run_groups<Group>(matrix, pass,
                    [](const Matrix& m, const StochasticPass&, std::span<Group> groups) {
                      online_kernel(m, groups);
                    });
}

#define MINIMAND_RUN(Matrix) \
  template void OnlineStep<double>::run(const Matrix&, const StochasticPass&);
MINIMAND_FOR_EACH_ROWS(MINIMAND_RUN)

}  // namespace minimand
