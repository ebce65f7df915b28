#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dense/matrix.hpp"
#include "sparse/compressed.hpp"
#include "stochastic/slopes.hpp"

namespace minimand {

/// What goes with every row: t = sign (x.w + b) - shift, how much it weighs, and who comes when.
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

  double strongest(std::span<const double> factors) const {
    double most = 0.0;
    for (const double factor : factors) most = factor > most ? factor : most;
    return most;
  }
};

/// The step of row number t is eta / (t0 + t)^power; a row is `tick` of a step, as in a batch of
/// 1 / tick rows. From step `average_from` on, models are averaged with weights t^average_power.
struct StochasticOptions {
  double eta;
  double t0;
  double power;
  double tick;
  double average_from;  // infinite: no average
  double average_power;
  bool intercept;
};

/// The numbers that a run leaves for the next one.
struct StochasticMemory {
  static constexpr std::size_t kSize = 9;
  std::span<double> numbers;

  MINIMAND_INLINE double& at(std::size_t k) const { return numbers.data()[k]; }
  MINIMAND_INLINE double& b() const { return at(0); }
  MINIMAND_INLINE double& b_sum() const { return at(1); }         // sum of c b
  MINIMAND_INLINE double& steps() const { return at(2); }         // t
  MINIMAND_INLINE double& penalty_time() const { return at(3); }  // sum of steps / scale
  MINIMAND_INLINE double& held() const { return at(4); }          // sum of c scale
  MINIMAND_INLINE double& scale() const { return at(5); }         // w = scale v
  MINIMAND_INLINE double& count() const { return at(6); }         // sum of c
  MINIMAND_INLINE double& norm() const { return at(7); }          // sum of (x / largest x)^2
  MINIMAND_INLINE double& b_squares() const { return at(8); }     // sum of squared slopes in b
};

/// Numbers per coefficient. With v the coefficient (up to the scale), its average is
/// (held v - lag) / count. Dense rows want every field together, sparse ones every coefficient.
enum Field : std::size_t { kValue, kLag, kSeen, kSquares, kRate, kInverse };

template <bool Packed>
struct Fields {
  std::span<double> numbers;
  std::size_t features;
  std::size_t fields;

  MINIMAND_INLINE double& at(Field field, std::size_t j) const {
    if constexpr (Packed) return numbers.data()[j * fields + field];
    return numbers.data()[static_cast<std::size_t>(field) * features + j];
  }
};

/// A loop over the entries of a row. Those of a dense one meet different coefficients, which the
/// compiler cannot know; `body` must be inlined always, see targets.hpp.
#define MINIMAND_BODY(k) [&](std::size_t k) __attribute__((always_inline))
template <class Row, class Body>
MINIMAND_INLINE void for_each_entry(std::size_t size, const Body& body) {
  if constexpr (Row::kPacked) {
    for (std::size_t k = 0; k < size; ++k) body(k);
  } else {
#pragma GCC ivdep
    for (std::size_t k = 0; k < size; ++k) body(k);
  }
}

template <class Scalar, class Index>
struct SparseRow {
  static constexpr bool kPacked = true;
  Compressed<Scalar, Index> matrix;
  std::size_t from = 0, length = 0;

  MINIMAND_INLINE void move_to(std::size_t i) {
    from = static_cast<std::size_t>(matrix.indptr.data()[i]);
    length = static_cast<std::size_t>(matrix.indptr.data()[i + 1]) - from;
  }
  MINIMAND_INLINE std::size_t size() const { return length; }
  MINIMAND_INLINE std::size_t column(std::size_t k) const {
    return static_cast<std::size_t>(matrix.indices.data()[from + k]);
  }
  MINIMAND_INLINE double value(std::size_t k) const {
    return static_cast<double>(matrix.values.data()[from + k]);
  }
  MINIMAND_INLINE void fetch(std::size_t i) const {
    const auto start = static_cast<std::size_t>(matrix.indptr.data()[i]);
    const auto stop = static_cast<std::size_t>(matrix.indptr.data()[i + 1]);
    for (std::size_t k = start; k < stop && k < start + 256; k += 64 / sizeof(Index)) {
      __builtin_prefetch(matrix.indices.data() + k);
    }
    for (std::size_t k = start; k < stop && k < start + 256; k += 64 / sizeof(Scalar)) {
      __builtin_prefetch(matrix.values.data() + k);
    }
  }
  /// The coefficients that a row will meet.
  MINIMAND_INLINE void fetch_fields(std::size_t i, std::span<double> numbers,
                                    std::size_t width) const {
    const auto start = static_cast<std::size_t>(matrix.indptr.data()[i]);
    const auto stop = static_cast<std::size_t>(matrix.indptr.data()[i + 1]);
    for (std::size_t k = start; k < stop && k < start + 512; ++k) {
      const auto j = static_cast<std::size_t>(matrix.indices.data()[k]);
      __builtin_prefetch(numbers.data() + j * width, 1);
    }
  }
  std::size_t longest() const {
    std::size_t most = 0;
    for (std::size_t i = 0; i < matrix.majors(); ++i) most = std::max(most, matrix.size_of(i));
    return most;
  }
};

template <class Scalar>
struct DenseRow {
  static constexpr bool kPacked = false;
  DenseMatrix<Scalar> matrix;
  const Scalar* from = nullptr;

  MINIMAND_INLINE void move_to(std::size_t i) { from = matrix.values.data() + i * matrix.stride; }
  MINIMAND_INLINE std::size_t size() const { return matrix.length; }
  MINIMAND_INLINE std::size_t column(std::size_t k) const { return k; }
  MINIMAND_INLINE double value(std::size_t k) const { return static_cast<double>(from[k]); }
  MINIMAND_INLINE void fetch(std::size_t i) const {
    const Scalar* const row = matrix.values.data() + i * matrix.stride;
    for (std::size_t k = 0; k < matrix.length && k < 512; k += 64 / sizeof(Scalar)) {
      __builtin_prefetch(row + k);
    }
  }
  MINIMAND_INLINE void fetch_fields(std::size_t, std::span<double>, std::size_t) const {}
  std::size_t longest() const { return matrix.length; }
};

/// All that one pass reads and changes.
struct StochasticPass {
  RowSlopes slopes;
  StochasticRows rows;
  StochasticPenalty penalty;
  StochasticOptions options;
  StochasticMemory memory;
  std::span<double> fields;
  std::size_t features;
};

}  // namespace minimand
