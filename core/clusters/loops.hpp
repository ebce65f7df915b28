#pragma once

#include <utility>

#include "clusters/scoring.hpp"
#include "clusters/search.hpp"

// The loops over rows of a search, compiled once per instruction set.
namespace minimand {

/// Rows and columns of a matrix with a row per sample.
template <class Scalar, class Index>
std::pair<std::size_t, std::size_t> shape_of(const Compressed<Scalar, Index>& matrix) {
  return {matrix.majors(), matrix.minors};
}
template <class Scalar>
std::pair<std::size_t, std::size_t> shape_of(const DenseMatrix<Scalar>& matrix) {
  return {matrix.lines, matrix.length};
}

/// Rows whose sums are taken: the rows of clusters c with c % parts == part, so that the rows of a
/// cluster are added in their order however many threads there are.
struct SumsPart {
  std::size_t part, parts;
  std::span<const std::int32_t> labels;
  std::span<const std::int32_t> before;  // labels of the rows in the sums so far; empty: none are
  std::span<const double> weights, factors;
  std::span<double> sums, masses;
};

// The loader resolves each of these functions to the clone for this processor.
#define MINIMAND_DECLARE(Matrix)                                                    \
  void search_rows(const SearchState<Matrix>& state, Measure measure, Range range,  \
                   DoubtfulRows<ScalarOf<Matrix>>& block);                          \
  void measure_rows(const SearchState<Matrix>& state, Measure measure, Range range, \
                    std::span<double> out);                                         \
  void size_rows(const Matrix& matrix, std::span<const double> factors,             \
                 std::span<const double> middle, bool narrow, Range range,          \
                 std::span<double> squares, std::span<float> sizes);                \
  void add_rows(const Matrix& matrix, const SumsPart& part);
MINIMAND_FOR_EACH_ROWS(MINIMAND_DECLARE)
#undef MINIMAND_DECLARE

/// The same with narrow scores.
void search_rows(const SearchState<DenseFloat64, float>& state, Measure measure, Range range,
                 DoubtfulRows<float>& block);

/// The best scores of some centres among all others, for centres as rows and in panels.
void score_others(const DenseFloat32& centers, const Panels<float>& panels, Measure measure,
                  Range range, std::span<double> best);
void score_others(const DenseFloat64& centers, const Panels<double>& panels, Measure measure,
                  Range range, std::span<double> best);

}  // namespace minimand
