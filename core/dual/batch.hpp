#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dual/rows.hpp"

namespace minimand {

/// The classes that one run takes at most: four vectors of four numbers; safeguard.
inline constexpr std::size_t kMostClasses = 16;

/// Classes are padded to a multiple of this, whatever the length of a vector is; definition.
inline constexpr std::size_t kClassesInStep = 4;

/// The duals (see DualProblem) of several problems on the same rows, of one class each. Arrays with
/// a number per class are (rows, width) or (width,), where the width is the number of classes
/// rounded up: padding has no mass and never becomes active.
struct BatchProblem {
  std::span<const double> pull;     // mass times sign of every row and class
  std::span<const double> shift;    // of every row and class, or of every class
  std::span<const double> squares;  // sum_j inverse_j x_ij^2 of every row
  std::span<const double> inverse;  // 1 / l2_j; one number if they are all equal
  std::span<const double> reach;    // typical distance of a t from a knot, by class
  std::span<const double> target;   // the gap at which a class is done
  bool intercept;
  std::size_t classes;
  std::size_t width;
};

/// What a run changes; all of it is kept for the next run.
struct BatchState {
  std::span<double> v;  // (rows, width)
  std::span<double> w;  // (columns, width)
  std::span<double> b;
  std::span<double> bias;
  std::span<double> threshold;
  std::span<std::uint8_t> active;  // (rows, width): whether the row is visited for the class
  std::span<double> gap;           // an estimate by class
};

struct BatchReport {
  double sweeps;    // over all rows
  bool worthwhile;  // false: few classes are active in a row, better go on with one at a time
};

/// Coordinate ascent over rows for all classes at once: every row is read once, and all its
/// scores come from that one reading. A run ends when every class is done, or when it is no longer
/// worthwhile.
template <class Scalar, class Index>
BatchReport ascend_batch(const Compressed<Scalar, Index>& matrix, const DualPsi& psi,
                         const BatchProblem& problem, BatchState state, std::int64_t epochs,
                         std::uint64_t seed);
template <class Scalar>
BatchReport ascend_batch(const DenseMatrix<Scalar>& matrix, const DualPsi& psi,
                         const BatchProblem& problem, BatchState state, std::int64_t epochs,
                         std::uint64_t seed);

}  // namespace minimand
