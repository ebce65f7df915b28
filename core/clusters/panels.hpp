#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/row_kernels.hpp"

// Scores of rows and centres, computed for some rows and a panel of centres at a time in registers,
// so that there is no table of all distances. A centre with a larger score is nearer.
namespace minimand {

template <class Scalar>
struct WideTypes;
template <>
struct WideTypes<float> {
  typedef float Values __attribute__((vector_size(MINIMAND_VECTOR_BYTES)));
  typedef std::int32_t Numbers __attribute__((vector_size(MINIMAND_VECTOR_BYTES)));
};
template <>
struct WideTypes<double> {
  typedef double Values __attribute__((vector_size(MINIMAND_VECTOR_BYTES)));
  typedef std::int64_t Numbers __attribute__((vector_size(MINIMAND_VECTOR_BYTES)));
};
template <class Scalar>
using Values = typename WideTypes<Scalar>::Values;
template <class Scalar>
using Numbers = typename WideTypes<Scalar>::Numbers;

template <class Scalar>
inline constexpr std::size_t kWide = MINIMAND_VECTOR_BYTES / sizeof(Scalar);
/// Centres of a panel: two vectors, so that six rows have their sums in twelve registers.
template <class Scalar>
inline constexpr std::size_t kPanel = 2 * kWide<Scalar>;  // numbers; derived

template <class Matrix>
struct TypesOf;
template <class Real>
struct TypesOf<DenseMatrix<Real>> {
  using Scalar = Real;
  static constexpr std::size_t kRows = 6;  // scored at once; derived from registers
};
template <class Real, class Index>
struct TypesOf<Compressed<Real, Index>> {
  using Scalar = Real;
  static constexpr std::size_t kRows = 1;  // entries lie in different columns; definition
};
template <class Matrix>
using ScalarOf = typename TypesOf<Matrix>::Scalar;

template <class Scalar>
inline constexpr Scalar kWorst = -std::numeric_limits<Scalar>::infinity();

/// The score x . c - h_c; with h_c = |c|^2 / 2, |x - c|^2 is |x|^2 less twice the score.
struct Dots {
  static constexpr bool kSquared = true;
  template <class Wide, class Scalar>
  MINIMAND_INLINE static Wide add(Wide sum, Scalar x, Wide c) {
    return sum + x * c;
  }
  template <class Wide, class Scalar>
  MINIMAND_INLINE static Wide add_stored(Wide sum, Scalar x, Wide c) {
    return sum + x * c;
  }
  template <class Number>
  MINIMAND_INLINE static Number measure(Number gap) {
    return gap * gap;
  }
};

/// The score -sum_j |x_j - c_j|.
struct Gaps {
  static constexpr bool kSquared = false;
  template <class Number>
  MINIMAND_INLINE static Number measure(Number gap) {
    return gap < Number{} ? -gap : gap;
  }
  template <class Wide, class Scalar>
  MINIMAND_INLINE static Wide add(Wide sum, Scalar x, Wide c) {
    return sum - measure(x - c);
  }
  /// What is not stored is zero, and was counted before: the sum begins with -sum_j |c_j|.
  template <class Wide, class Scalar>
  MINIMAND_INLINE static Wide add_stored(Wide sum, Scalar x, Wide c) {
    return sum - (measure(x - c) - measure(c));
  }
};

/// Centres in panels: the entries of all centres of a panel in one column, then in the next.
template <class Scalar>
class Panels {
 public:
  /// Packs k centres and what their scores begin with; the last panel is filled up with centres
  /// that are never the best.
  void pack(std::span<const double> centers, std::span<const double> offsets, std::size_t length) {
    length_ = length;
    const std::size_t k = offsets.size(), whole = (k + kPanel<Scalar> - 1) / kPanel<Scalar>;
    lines_.assign(whole * length * kPanel<Scalar> / kLineLength + 1, Line{});
    offsets_.assign(whole * kPanel<Scalar>, kWorst<Scalar>);
    Scalar* const entries = lines_.data()->values;
    for (std::size_t c = 0; c < k; ++c) {
      Scalar* const to =
          entries + c / kPanel<Scalar> * length * kPanel<Scalar> + c % kPanel<Scalar>;
      for (std::size_t j = 0; j < length; ++j) {
        const double number = centers[c * length + j];
        // Lines of zeros stay untouched: centres of sparse rows have few other numbers.
        if (number != 0.0) to[j * kPanel<Scalar>] = static_cast<Scalar>(number);
      }
      offsets_[c] = static_cast<Scalar>(offsets[c]);
    }
  }

  std::size_t count() const { return offsets_.size() / kPanel<Scalar>; }
  const Scalar* entries(std::size_t panel) const {
    return lines_.data()->values + panel * length_ * kPanel<Scalar>;
  }
  const Scalar* offsets(std::size_t panel) const {
    return offsets_.data() + panel * kPanel<Scalar>;
  }

 private:
  static constexpr std::size_t kLineLength = kLine / sizeof(Scalar);
  struct alignas(kLine) Line {
    Scalar values[kLineLength];
  };
  std::vector<Line> lines_;  // aligned, so that no vector lies in two cache lines
  std::vector<Scalar> offsets_;
  std::size_t length_ = 0;
};

template <class Scalar>
MINIMAND_INLINE Values<Scalar> load_wide(const Scalar* from) {
  Values<Scalar> values;
  __builtin_memcpy(&values, from, sizeof values);
  return values;
}

/// The scores of some rows with one panel, two vectors for each row.
template <class Scalar, std::size_t kRows>
struct ScoreTile {
  Values<Scalar> low[kRows];
  Values<Scalar> high[kRows];
};

template <class Metric, class Scalar>
MINIMAND_INLINE void score(const DenseMatrix<Scalar>& matrix, const std::uint32_t* rows,
                           const Scalar* entries, const Scalar* offsets, ScoreTile<Scalar, 6>& to) {
  const Scalar* const base = matrix.values.data();
  const Scalar* from[6];
  for (std::size_t r = 0; r < 6; ++r) from[r] = base + rows[r] * matrix.stride;
  Values<Scalar> low[6], high[6];
  for (std::size_t r = 0; r < 6; ++r) {
    low[r] = load_wide(offsets);
    high[r] = load_wide(offsets + kWide<Scalar>);
  }
  const std::size_t d = matrix.length;
  for (std::size_t j = 0; j < d; ++j) {
    const Values<Scalar> first = load_wide(entries + j * kPanel<Scalar>);
    const Values<Scalar> second = load_wide(entries + j * kPanel<Scalar> + kWide<Scalar>);
#pragma GCC unroll 6
    for (std::size_t r = 0; r < 6; ++r) {
      low[r] = Metric::add(low[r], from[r][j], first);
      high[r] = Metric::add(high[r], from[r][j], second);
    }
  }
  for (std::size_t r = 0; r < 6; ++r) {
    to.low[r] = low[r];
    to.high[r] = high[r];
  }
}

template <class Metric, class Scalar, class Index>
MINIMAND_INLINE void score(const Compressed<Scalar, Index>& matrix, const std::uint32_t* rows,
                           const Scalar* entries, const Scalar* offsets, ScoreTile<Scalar, 1>& to) {
  const auto row = row_of(matrix, rows[0]);
  Values<Scalar> low = load_wide(offsets), high = load_wide(offsets + kWide<Scalar>);
  for (std::size_t k = 0; k < row.size(); ++k) {
    const Scalar* const at = entries + row.column(k) * kPanel<Scalar>;
    const Scalar x = row.values.data()[k];
    low = Metric::add_stored(low, x, load_wide(at));
    high = Metric::add_stored(high, x, load_wide(at + kWide<Scalar>));
  }
  to.low[0] = low;
  to.high[0] = high;
}

/// The best scores of every lane so far, the number of the centre of the first, and the second.
template <class Scalar>
struct Leader {
  Values<Scalar> best;
  Values<Scalar> second;
  Numbers<Scalar> number;

  /// From the first two vectors of scores.
  MINIMAND_INLINE void begin(Values<Scalar> one, Numbers<Scalar> numbers, Values<Scalar> other,
                             Numbers<Scalar> others) {
    const auto ahead = other > one;
    best = ahead ? other : one;
    second = ahead ? one : other;
    number = ahead ? others : numbers;
  }

  MINIMAND_INLINE void meet(Values<Scalar> score, Numbers<Scalar> numbers) {
    const auto ahead = score > best;
    const Values<Scalar> beaten = ahead ? best : score;
    second = beaten > second ? beaten : second;
    best = ahead ? score : best;
    number = ahead ? numbers : number;
  }
};

/// The numbers first, first + 1, … of the centres of a vector.
template <class Scalar>
MINIMAND_INLINE Numbers<Scalar> numbers_from(std::size_t first) {
  Numbers<Scalar> numbers;
  for (std::size_t lane = 0; lane < kWide<Scalar>; ++lane) {
    numbers[lane] = static_cast<std::int32_t>(first + lane);
  }
  return numbers;
}

/// The greater of two numbers in every lane.
template <class Wide>
MINIMAND_INLINE Wide greater(Wide one, Wide other) {
  return one > other ? one : other;
}

/// The largest lane.
template <class Scalar>
MINIMAND_INLINE Scalar greatest(Values<Scalar> v) {
  if constexpr (kWide<Scalar> == 8) {
    v = greater(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
    v = greater(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
    v = greater(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6));
  } else if constexpr (kWide<Scalar> == 4) {
    v = greater(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
    v = greater(v, __builtin_shufflevector(v, v, 1, 0, 3, 2));
  } else {
    v = greater(v, __builtin_shufflevector(v, v, 1, 0));
  }
  return v[0];
}

/// The centre with the best score, of several the one with the lowest number, and the best score of
/// all other centres.
template <class Scalar>
struct Lead {
  std::int32_t number;
  Scalar runner_up;
};
template <class Scalar>
MINIMAND_INLINE Lead<Scalar> lead_of(const Leader<Scalar>& leader, Scalar score) {
  std::int32_t found = std::numeric_limits<std::int32_t>::max();
  for (std::size_t lane = 0; lane < kWide<Scalar>; ++lane) {
    const auto number = static_cast<std::int32_t>(leader.number[lane]);
    if (leader.best[lane] == score && number < found) found = number;
  }
  Scalar runner_up = kWorst<Scalar>;
  for (std::size_t lane = 0; lane < kWide<Scalar>; ++lane) {
    const bool leads =
        static_cast<std::int32_t>(leader.number[lane]) == found && leader.best[lane] == score;
    const Scalar other = leads ? leader.second[lane] : leader.best[lane];
    runner_up = other > runner_up ? other : runner_up;
  }
  return {found, runner_up};
}

/// The distance of a row, times a factor, from a centre (its square under Dots), by differences
/// and in double precision. `whole` is the distance of the centre from 0.
template <class Metric, class Scalar>
MINIMAND_INLINE double direct(const DenseRow<Scalar>& row, double factor, const double* center,
                              double) {
  Lanes sum0 = {}, sum1 = {};
  const std::size_t d = row.size();
  std::size_t k = 0;
  for (; k + 2 * kLanes <= d; k += 2 * kLanes) {
    sum0 += Metric::measure(factor * row.lanes(k) - load_lanes(center + k));
    sum1 += Metric::measure(factor * row.lanes(k + kLanes) - load_lanes(center + k + kLanes));
  }
  double tail = 0.0;
  for (; k < d; ++k) tail += Metric::measure(factor * row.value(k) - center[k]);
  return sum_lanes(sum0 + sum1) + tail;
}

template <class Metric, class Scalar, class Index>
MINIMAND_INLINE double direct(const SparseRow<Scalar, Index>& row, double factor,
                              const double* center, double whole) {
  double sum = 0.0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    const double c = center[row.column(k)];
    sum += Metric::measure(factor * row.value(k) - c) - Metric::measure(c);
  }
  const double total = sum + whole;
  return total > 0.0 ? total : 0.0;
}

}  // namespace minimand
