#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/row_kernels.hpp"
#include "stochastic/slopes.hpp"

namespace minimand {

/// Data per row: sign and shift of t = sign (x.w + b) - shift, the weight, and the order of visits.
/// sign and shift hold a number for every group of models, row, and model of the group.
struct StochasticRows {
  std::span<const double> sign;
  std::span<const double> shift;
  std::span<const double> weight;
  std::span<const std::uint32_t> order;
};

/// sum_j l1_j |w_j| + l2_j w_j^2 / 2; one number each where they are all equal.
struct StochasticPenalty {
  std::span<const double> l1;
  std::span<const double> l2;

  static double strongest(std::span<const double> factors) {
    double most = 0.0;
    for (const double factor : factors) most = factor > most ? factor : most;
    return most;
  }
};

/// A factor per coefficient, or the same for all.
struct Factors {
  const double* numbers;
  std::size_t mask;

  explicit Factors(std::span<const double> factors)
      : numbers(factors.data()), mask(factors.size() == 1 ? 0 : ~std::size_t{0}) {}
  /// Of coefficient j, or of as many as C holds from j on.
  template <class C>
  MINIMAND_INLINE C of(std::size_t j) const {
    return mask == 0 ? same_models<C>(numbers[0]) : load_models<C>(numbers + j);
  }
};

/// Which steps rows take: see passes.hpp.
enum class StepRule : std::int64_t { plain, adaptive, perceptron, pa1, pa2 };

/// The step of row number t is eta / (t0 + t)^power; a row is `tick` of a step, as in a batch of
/// 1 / tick rows. From step `average_from` on, models are averaged with weights t^average_power.
struct StochasticOptions {
  StepRule rule;
  double eta;  // or the C of passive-aggressive steps
  double t0;
  double power;
  double tick;
  double average_from;  // infinite: no average
  double average_power;
  double intercept;       // the share of a step that the intercept takes; 0: there is none
  double intercept_step;  // the intercept's step is at most this / sqrt(t)
  double add_up;  // 0, or: sum the loss, and the penalty times this, before the step of each row
  bool rescale;   // whether coefficients are rescaled when a column's largest entry grows

  /// The weight of the model after step t in the average.
  MINIMAND_INLINE double share(double t) const {
    return average_power == 0.0 ? 1.0 : average_power == 1.0 ? t : std::pow(t, average_power);
  }
};

/// Single numbers, beside the fields of every coefficient, that a pass leaves for the next one.
/// Models of a group share the first ones, since all of them take every step.
template <class V>
struct StochasticScalars {
  static constexpr std::size_t kShared = 7;    // numbers, from steps() to last(); definition
  static constexpr std::size_t kPerModel = 5;  // numbers, at(0) to at(4); definition
  static constexpr std::size_t kSize = kShared + kPerModel * kModels<V>;
  double* numbers;

  MINIMAND_INLINE double& steps() const { return numbers[0]; }         // t
  MINIMAND_INLINE double& penalty_time() const { return numbers[1]; }  // sum of steps / scale
  MINIMAND_INLINE double& held() const { return numbers[2]; }          // sum of c scale
  MINIMAND_INLINE double& scale() const { return numbers[3]; }         // w = scale v
  MINIMAND_INLINE double& count() const { return numbers[4]; }         // sum of c
  MINIMAND_INLINE double& norm() const { return numbers[5]; }          // sum of (x / largest x)^2
  MINIMAND_INLINE double& last() const { return numbers[6]; }          // of the penalty's steps

  MINIMAND_INLINE double* at(std::size_t k) const { return numbers + kShared + k * kModels<V>; }
  MINIMAND_INLINE V b() const { return load_models<V>(at(0)); }
  MINIMAND_INLINE void set_b(V b) const { store_models(at(0), b); }
  /// Sum of squared slopes in b.
  MINIMAND_INLINE V b_squares() const { return load_models<V>(at(2)); }
  MINIMAND_INLINE void set_b_squares(V squares) const { store_models(at(2), squares); }

  /// Plain steps, if they add up: the sums of squares and of |.| of the v that moved last.
  MINIMAND_INLINE V squares() const { return load_models<V>(at(2)); }
  MINIMAND_INLINE V magnitudes() const { return load_models<V>(at(4)); }
  MINIMAND_INLINE void measured(V squares, V magnitudes) const {
    store_models(at(2), squares);
    store_models(at(4), magnitudes);
  }

  /// Sum of what the rows pay, each before its step.
  MINIMAND_INLINE void pay(V loss) const { store_models(at(3), load_models<V>(at(3)) + loss); }

  /// Adds the current model, scale v and b, to the averages with weight c; at(1) is the sum of c b.
  MINIMAND_INLINE void average(double c) const {
    held() += c * scale();
    store_models(at(1), load_models<V>(at(1)) + c * b());
    count() += c;
  }
};

/// Numbers per coefficient and model. With v the coefficient (up to the scale), its average is
/// (held v - lag) / count. The third is the sum of squared slopes, or what an l1 penalty took.
enum ModelField : std::size_t { kValue, kLag, kSquares, kReceived = kSquares };
/// Numbers per coefficient: the penalty time at its last update, then those of adaptive steps, or
/// `held` at that time.
enum CommonField : std::size_t { kSeen, kInverse, kFastest, kHeldThen = kInverse };

/// How many numbers there are: always the same, or for plain steps the values, with averages
/// their lags too, and with an l1 penalty all three and when a coefficient was met last.
struct AdaptiveCounts {
  static constexpr std::size_t own = 3, common = 3;
  AdaptiveCounts() = default;
  explicit AdaptiveCounts(std::size_t) {}
  static bool known(std::size_t numbers) { return numbers == own; }
};
struct PlainCounts {
  std::size_t own, common;
  explicit PlainCounts(std::size_t numbers) : own(numbers), common(numbers > kReceived ? 2 : 0) {}
  static bool known(std::size_t numbers) { return numbers >= 1 && numbers <= 3; }
};
struct OnlineCounts {
  std::size_t own, common = 0;
  explicit OnlineCounts(std::size_t numbers) : own(numbers) {}
  static bool known(std::size_t numbers) { return numbers >= 1 && numbers <= 3; }
};

/// The numbers of all coefficients. For dense rows they are stored field by field, for sparse rows
/// coefficient by coefficient. Numbers of a group of models fill a cache line each, and are stored
/// field by field, since most rows need the values only.
template <bool Sparse, class V, class Counts>
struct Fields {
  [[no_unique_address]] Counts counts;
  double* numbers;
  std::size_t features;

  MINIMAND_INLINE std::size_t width() const { return counts.own * kModels<V> + counts.common; }
  MINIMAND_INLINE double* at(ModelField field, std::size_t j) const {
    if constexpr (Sparse && kModels<V> == 1) return numbers + j * width() + field;
    return numbers + (field * features + j) * kModels<V>;
  }
  MINIMAND_INLINE double* at(CommonField field, std::size_t j) const {
    if constexpr (Sparse && kModels<V> == 1) return numbers + j * width() + counts.own + field;
    double* const first = numbers + counts.own * kModels<V> * features;
    return Sparse ? first + j * counts.common + field : first + field * features + j;
  }
  /// A number of every model: V, or for several coefficients of one model as many numbers; or one
  /// that all models have in common.
  template <class Number, class Field>
  MINIMAND_INLINE Number get(Field field, std::size_t j) const {
    return load_models<Number>(at(field, j));
  }
  template <class Number, class Field>
  MINIMAND_INLINE void set(Field field, std::size_t j, Number v) const {
    store_models(at(field, j), v);
  }

  /// Prefetches the coefficients of a sparse row: their values, or all of their numbers.
  template <class Row>
  MINIMAND_INLINE void fetch(const Row& row, bool all) const {
    const std::size_t size = row.size() < 512 ? row.size() : 512;
    for (std::size_t k = 0; k < size; ++k) {
      const std::size_t j = row.column(k);
      __builtin_prefetch(at(kValue, j), 1);
      if constexpr (kModels<V> == 1) {
        if (width() > 1) __builtin_prefetch(at(kValue, j) + width() - 1, 1);
      }
      if constexpr (kModels<V> > 1) {
        if (counts.common > 1) __builtin_prefetch(at(kSeen, j), 1);
        if (!all) continue;
        if (counts.own > kLag) __builtin_prefetch(at(kLag, j), 1);
        if (counts.own > kSquares) __builtin_prefetch(at(kSquares, j), 1);
      }
    }
  }

  /// x.v of every model; four independent sums hide the latency of additions.
  template <class Row>
  MINIMAND_INLINE V score(const Row& row) const {
    if constexpr (!Sparse) {
      return row.dot({at(kValue, 0), features});
    } else {
      V sums[4] = {};
      const std::size_t size = row.size();
      std::size_t k = 0;
      for (; k + 4 <= size; k += 4) {
        for (std::size_t s = 0; s < 4; ++s) {
          sums[s] += row.value(k + s) * get<V>(kValue, row.column(k + s));
        }
      }
      for (; k < size; ++k) sums[0] += row.value(k) * get<V>(kValue, row.column(k));
      return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
  }

  /// v += change, with the update of the average.
  template <class Own>
  MINIMAND_INLINE void move(std::size_t j, Own change, double held) const {
    set(kValue, j, get<Own>(kValue, j) + change);
    set(kLag, j, get<Own>(kLag, j) + held * change);
  }
};

/// The types of an entry's numbers: those of its models, and those that the models share. For a
/// sparse row they are V and a double; a dense row takes a vector of neighbours at a time.
template <class OwnNumbers, class CommonNumbers>
struct Entry {
  using Own = OwnNumbers;
  using Common = CommonNumbers;

  template <class Row>
  MINIMAND_INLINE static Common value(const Row& row, std::size_t k) {
    if constexpr (kModels<Common> == 1) {
      return row.value(k);
    } else {
      return row.lanes(k);
    }
  }
};

/// A loop over the entries of a row; `body` must be inlined always, see targets.hpp.
#define MINIMAND_BODY(k, entry) [&](std::size_t k, auto entry) __attribute__((always_inline))
template <class V, class Row, class Body>
MINIMAND_INLINE void for_each_entry(const Row& row, const Body& body) {
  const std::size_t size = row.size();
  std::size_t k = 0;
  if constexpr (!Row::kSparse) {
    for (; k + kLanes <= size; k += kLanes) body(k, Entry<Lanes, Lanes>{});
  }
  for (; k < size; ++k) body(k, Entry<V, double>{});
}

/// All that one pass reads and changes: `groups` groups of `models` models.
struct StochasticPass {
  RowSlopes slopes;
  StochasticRows rows;
  StochasticPenalty penalty;
  StochasticOptions options;
  std::span<double> scalars;
  std::span<double> fields;
  std::span<double> moves;  // how often every row moved the model of an online rule; may be empty
  std::size_t features;
  std::size_t groups;
  std::size_t own;  // numbers of a coefficient per model

  std::size_t n() const { return rows.weight.size(); }
};

/// Visits the rows in their order; every group of models makes a step at each. The data of a row
/// are prefetched some rows ahead, since the order is random.
template <class Matrix, class Group>
MINIMAND_INLINE void visit_rows(const Matrix& matrix, const StochasticPass& pass,
                                std::span<Group> groups) {
  const StochasticRows& rows = pass.rows;
  constexpr std::size_t kFar = 12, kNear = 6, kNext = 1;  // rows ahead; safeguard
  constexpr std::size_t kCached =
      1 << 18;  // bytes that stay in the L2 cache by themselves; safeguard
  const bool fetched = pass.fields.size() / pass.groups * sizeof(double) > kCached;
  const std::span<const std::uint32_t> order = rows.order;
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k + kFar < order.size()) {
      const std::size_t i = order.data()[k + kFar];
      __builtin_prefetch(rows.weight.data() + i);
      for (const Group& group : groups) group.fetch(i);
      if constexpr (RowOf<Matrix>::kSparse) __builtin_prefetch(matrix.indptr.data() + i);
    }
    if (k + kNear < order.size()) Group::fetch_row(row_of(matrix, order.data()[k + kNear]));
    if constexpr (RowOf<Matrix>::kSparse) {
      if (fetched && k + kNext < order.size()) {
        const auto next = row_of(matrix, order.data()[k + kNext]);
        for (const Group& group : groups) group.fields.fetch(next, group.touches_all());
      }
    }
    const auto row = row_of(matrix, order.data()[k]);
    for (Group& group : groups) group.step(row, order.data()[k]);
  }
}

/// Runs `kernel(matrix, pass, groups)` over all groups, on several threads. Groups are independent,
/// so that the result does not depend on the number of threads. With a dense matrix all groups
/// visit a row while it is in the cache; with a sparse one the groups run one after the other, so
/// that their coefficients stay in the cache.
template <class Group, class Matrix, class Kernel>
void run_groups(const Matrix& matrix, const StochasticPass& pass, const Kernel& kernel) {
  std::vector<Group> groups;
  for (std::size_t g = 0; g < pass.groups; ++g) groups.emplace_back(matrix, pass, g);
  const std::size_t row = pass.n() == 0 ? 0 : pass.fields.size() / pass.groups;
  const std::size_t work = pass.groups * pass.rows.order.size() * (row < 100 ? row : 100);
  parallel_ranges(pass.groups, work, [&](Range range, std::size_t) {
    const std::size_t together = RowOf<Matrix>::kSparse ? 1 : range.size();
    for (std::size_t g = range.begin; g < range.end; g += together) {
      kernel(matrix, pass, std::span(groups).subspan(g, together));
    }
  });
}

/// The offsets of one group in arrays that are stored group after group.
template <class V>
struct Share {
  std::size_t rows;  // its first number in sign, shift and given slopes
  StochasticScalars<V> scalars;
  double* fields;
  const double* sign;
  const double* shift;

  Share(const StochasticPass& pass, std::size_t group)
      : rows(group * pass.n() * kModels<V>),
        scalars{pass.scalars.data() + group * StochasticScalars<V>::kSize},
        fields(pass.fields.data() + group * (pass.fields.size() / pass.groups)),
        sign(pass.rows.sign.data()),
        shift(pass.rows.shift.data()) {}

  MINIMAND_INLINE std::size_t place(std::size_t i) const { return rows + i * kModels<V>; }
  MINIMAND_INLINE void fetch(std::size_t i) const {
    __builtin_prefetch(sign + place(i));
    __builtin_prefetch(shift + place(i));
  }
  template <class Row>
  MINIMAND_INLINE static void fetch_row(const Row& row) {
    row.fetch();
  }
};

}  // namespace minimand
