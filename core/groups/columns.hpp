#pragma once

#include <cstddef>
#include <span>

#include "dense/matrix.hpp"
#include "descent/sweeps.hpp"
#include "groups/penalties.hpp"
#include "sparse/compressed.hpp"

namespace minimand {

/// The curvature of a loss of several scores, by row: diag(h), or scale (diag(h) - h h').
struct ScoreCurvature {
  std::span<const double> h;      // as many numbers as q
  std::span<const double> scale;  // one per row if h are shares that count together; else empty
};

/// Minimises over W and b: sum_i q_i't_i + 0.5 t_i'H_i t_i + penalties(W), where
/// t = X_chosen (W - W_in) + b. On exit q_i has gained H_i t_i, and b is added to `shift`.
/// `inverse` is the inverse of sum_i H_i, or empty if b is absent. A group is a run of columns.
template <class Scalar, class Index>
SweepReport descend_groups(const Compressed<Scalar, Index>& matrix,
                           std::span<const std::int64_t> chosen, ScoreCurvature curvature,
                           std::span<const double> inverse, std::span<double> q,
                           std::span<double> w, std::span<double> shift,
                           const GroupPenalties& penalties, StopRule stop);

template <class Scalar>
SweepReport descend_groups(const DenseMatrix<Scalar>& matrix, std::span<const std::int64_t> chosen,
                           ScoreCurvature curvature, std::span<const double> inverse,
                           std::span<double> q, std::span<double> w, std::span<double> shift,
                           const GroupPenalties& penalties, StopRule stop);

}  // namespace minimand
