#include "online/passes.hpp"

#include <algorithm>
#include <cmath>

#include "common/row_kernels.hpp"

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
    if (scale < 1e-9) fold();  // factor; safeguard, as in scikit-learn, against underflow
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

/// Applies the l1 steps that the weights of a row have missed since they were last updated.
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

/// The loss of a score, and the direction in which it falls: -1, 0 or 1.
struct Reaction {
  double loss;
  double direction;
};

MINIMAND_INLINE Reaction react(const OnlineRule& rule, double z, double y) {
  if (rule.numbers) {
    const double loss = std::abs(y - z) - rule.threshold;
    return {std::max(loss, 0.0), loss > 0.0 ? (y > z ? 1.0 : -1.0) : 0.0};
  }
  const double loss = rule.threshold - y * z;
  return {std::max(loss, 0.0), loss >= 0.0 ? y : 0.0};  // a tie counts as a mistake
}

template <class Row>
MINIMAND_INLINE double step_length(const OnlineRule& rule, const Row& row, double loss) {
  if (rule.step == Step::constant) return rule.rate;
  const double size = square(row);
  const double whole = rule.step == Step::pa2 ? size + 0.5 / rule.rate : size;
  if (whole == 0.0) return 0.0;  // a row of zeros, and no limit to C
  return rule.step == Step::pa2 ? loss / whole : std::min(rule.rate, loss / whole);
}

template <class Row>
MINIMAND_INLINE void move(const Row& row, double step, bool penalised, Weights& w) {
  if (!penalised) {
    row.add_to(w.v, step);
    return;
  }
  for (std::size_t k = 0; k < row.size(); ++k) {
    const std::size_t j = row.column(k);
    w.set(j, w.scale * w.v.data()[j] + step * row.value(k));
  }
}

template <class Matrix>
MINIMAND_INLINE OnlineReport pass(const Matrix& matrix, const OnlineRule& rule,
                                  const OnlineRows& rows, OnlineState state) {
  const bool penalised = rule.ridge > 0.0 || rule.lasso > 0.0;
  const double kept = std::max(0.0, 1.0 - rule.rate * rule.ridge);
  Weights w{state.w};
  if (penalised) w.measure();
  double objective = 0.0;
  std::int64_t moves = 0;
  for (const std::uint32_t i : rows.order) {
    const auto row = row_of(matrix, i);
    const Reaction reaction = react(rule, w.scale * row.dot(w.v) + state.b, rows.y.data()[i]);
    objective += reaction.loss + 0.5 * rule.ridge * w.squares + rule.lasso * w.magnitude;
    if (rule.step == Step::pa1 && is_zero(row)) continue;  // no change of w can mend its loss
    if (rule.ridge > 0.0) w.shrink(kept);
    double step = 0.0;
    if (reaction.direction != 0.0) {
      step = step_length(rule, row, reaction.loss) * reaction.direction * rows.weight.data()[i];
    }
    if (step != 0.0) {
      move(row, step, penalised, w);
      state.b += rule.share * step;
      state.moves.data()[i] += 1.0;
      ++moves;
      const double before = state.time - static_cast<double>(rule.average);
      if (rule.average > 0 && before > 0.0) {
        row.add_to(state.drift, before * step);
        state.b_drift += before * rule.share * step;
      }
    }
    if (rule.lasso > 0.0) {
      state.owed += rule.rate * rule.lasso;
      settle(row, state.owed, state.taken, w);
    }
    state.time += 1.0;
  }
  w.fold();
  return {state.b, state.b_drift, state.time, state.owed, objective, moves};
}

}  // namespace

#define MINIMAND_KERNEL(Matrix)                                                                  \
  namespace {                                                                                    \
  MINIMAND_CLONES OnlineReport pass_kernel(const Matrix& matrix, const OnlineRule& rule,         \
                                           const OnlineRows& rows, OnlineState state) {          \
    return pass(matrix, rule, rows, state);                                                      \
  }                                                                                              \
  }                                                                                              \
  template <>                                                                                    \
  OnlineReport online_pass(const Matrix& matrix, const OnlineRule& rule, const OnlineRows& rows, \
                           OnlineState state) {                                                  \
    return pass_kernel(matrix, rule, rows, state);                                               \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_KERNEL)

}  // namespace minimand
