#include "clusters/loops.hpp"

namespace minimand {
namespace {

template <class Scalar>
MINIMAND_INLINE void size_row(const DenseRow<Scalar>& row, std::span<const double> middle,
                              double& square, double& size) {
  square = middle.empty() ? minimand::square(row) : direct<Dots>(row, 1.0, middle.data(), 0.0);
  size = middle.empty() ? square : minimand::square(row);
}

template <class Scalar, class Index>
MINIMAND_INLINE void size_row(const SparseRow<Scalar, Index>& row, std::span<const double>,
                              double& square, double& size) {
  square = size = minimand::square(row);
}

template <class Matrix>
MINIMAND_INLINE void size_all(const Matrix& matrix, std::span<const double> factors,
                              std::span<const double> middle, bool narrow, Range range,
                              std::span<double> squares, std::span<float> sizes) {
  // The middle was subtracted from a narrow row in double precision, with a rounding of 2^-53 of
  // the row. Sizes count in units of float, 2^-24, and 2^-28 of these is more than that.
  constexpr double kRest = 0x1p-28;  // of the row, in units of float; definition
  for (std::size_t i = range.begin; i < range.end; ++i) {
    double square, size;
    size_row(row_of(matrix, i), middle, square, size);
    if (!factors.empty()) square = factors.data()[i] * factors.data()[i] * square + 1.0;
    squares.data()[i] = square;
    const double length = narrow ? std::sqrt(square) + kRest * std::sqrt(size) : std::sqrt(size);
    sizes.data()[i] = static_cast<float>(length) * kUp;
  }
}

template <class Row>
MINIMAND_INLINE void add_row(const Row& row, double scale, const SumsPart& part, std::int32_t c) {
  const auto cluster = static_cast<std::size_t>(c);
  if (c < 0 || cluster % part.parts != part.part) return;
  const std::size_t d = part.sums.size() / part.masses.size();
  row.add_to(part.sums.subspan(cluster * d, d), scale);
}

template <class Matrix>
MINIMAND_INLINE void add_all(const Matrix& matrix, const SumsPart& part) {
  const bool anew = part.before.empty();
  for (std::size_t i = 0; i < part.labels.size(); ++i) {
    const std::int32_t now = part.labels.data()[i], before = anew ? -1 : part.before.data()[i];
    if (now == before) continue;
    const double weight = part.weights.empty() ? 1.0 : part.weights.data()[i];
    const double scale = part.factors.empty() ? weight : weight * part.factors.data()[i];
    const auto row = row_of(matrix, i);
    add_row(row, -scale, part, before);
    add_row(row, scale, part, now);
    if (part.part == 0) {
      if (before >= 0) part.masses.data()[before] -= weight;
      part.masses.data()[now] += weight;
    }
  }
}

template <class Metric, class Scalar>
MINIMAND_INLINE void score_other_centers(const DenseMatrix<Scalar>& centers,
                                         const Panels<Scalar>& panels, Range range,
                                         std::span<double> best) {
  for (std::size_t i = range.begin; i < range.end; i += 6) {
    std::uint32_t rows[6];
    Values<Scalar> leaders[6];
    for (std::size_t r = 0; r < 6; ++r) {
      rows[r] = static_cast<std::uint32_t>(std::min(i + r, range.end - 1));
      leaders[r] = kWorst<Scalar> - Values<Scalar>{};
    }
    for (std::size_t p = 0; p < panels.count(); ++p) {
      ScoreTile<Scalar, 6> tile;
      score<Metric>(centers, rows, panels.entries(p), panels.offsets(p), tile);
      const Numbers<Scalar> low = numbers_from<Scalar>(p * kPanel<Scalar>);
      const Numbers<Scalar> high = numbers_from<Scalar>(p * kPanel<Scalar> + kWide<Scalar>);
      for (std::size_t r = 0; r < 6; ++r) {
        const Numbers<Scalar> own = static_cast<std::int32_t>(rows[r]) + Numbers<Scalar>{};
        const Values<Scalar> worst = kWorst<Scalar> - Values<Scalar>{};
        const Values<Scalar> one = low == own ? worst : tile.low[r];
        const Values<Scalar> two = high == own ? worst : tile.high[r];
        leaders[r] = one > leaders[r] ? one : leaders[r];
        leaders[r] = two > leaders[r] ? two : leaders[r];
      }
    }
    for (std::size_t r = 0; r < 6; ++r) {
      best.data()[rows[r]] = static_cast<double>(greatest<Scalar>(leaders[r]));
    }
  }
}

}  // namespace

#define MINIMAND_DEFINE(Matrix)                                                                    \
  MINIMAND_CLONES void search_rows(const SearchState<Matrix>& state, Measure measure, Range range, \
                                   DoubtfulRows<ScalarOf<Matrix>>& block) {                        \
    if (measure == Measure::squares) {                                                             \
      search<Dots>(state, range, block);                                                           \
    } else {                                                                                       \
      search<Gaps>(state, range, block);                                                           \
    }                                                                                              \
  }                                                                                                \
  MINIMAND_CLONES void measure_rows(const SearchState<Matrix>& state, Measure measure,             \
                                    Range range, std::span<double> out) {                          \
    for (std::size_t i = range.begin; i < range.end; ++i) {                                        \
      const std::int32_t c = state.labels.data()[i];                                               \
      const auto row = row_of(state.matrix, i);                                                    \
      const double whole = state.wholes.data()[c];                                                 \
      out.data()[i] = measure == Measure::squares                                                  \
                          ? direct<Dots>(row, state.factor(i), state.center(c), whole)             \
                          : direct<Gaps>(row, state.factor(i), state.center(c), whole);            \
    }                                                                                              \
  }                                                                                                \
  MINIMAND_CLONES void size_rows(const Matrix& matrix, std::span<const double> factors,            \
                                 std::span<const double> middle, bool narrow, Range range,         \
                                 std::span<double> squares, std::span<float> sizes) {              \
    size_all(matrix, factors, middle, narrow, range, squares, sizes);                              \
  }                                                                                                \
  MINIMAND_CLONES void add_rows(const Matrix& matrix, const SumsPart& part) {                      \
    add_all(matrix, part);                                                                         \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_DEFINE)
#undef MINIMAND_DEFINE

MINIMAND_CLONES void search_rows(const SearchState<DenseFloat64, float>& state, Measure,
                                 Range range, DoubtfulRows<float>& block) {
  search<Dots>(state, range, block);
}

#define MINIMAND_DEFINE(Matrix)                                                                    \
  MINIMAND_CLONES void score_others(const Matrix& centers, const Panels<ScalarOf<Matrix>>& panels, \
                                    Measure measure, Range range, std::span<double> best) {        \
    if (measure == Measure::squares) {                                                             \
      score_other_centers<Dots>(centers, panels, range, best);                                     \
    } else {                                                                                       \
      score_other_centers<Gaps>(centers, panels, range, best);                                     \
    }                                                                                              \
  }
MINIMAND_FOR_EACH_DENSE_ROWS(MINIMAND_DEFINE)
#undef MINIMAND_DEFINE

}  // namespace minimand
