#pragma once

#include <cstddef>
#include <span>

#include "common/lanes.hpp"
#include "descent/sweeps.hpp"

namespace minimand {

struct ColumnsReport {
  double shift;
  SweepReport sweeps;
};

/// The free constant b of a quadratic sum_i q_i t_i + h_i/2 t_i^2, t = Xd + b, minimised out.
///
/// Its minimiser is b = -Q/H with Q = sum q, H = sum h; carrying Q along makes the elimination cost
/// O(1) per coordinate. When b is absent, Q/H is held at zero.
class Centring {
 public:
  Centring(bool wanted, std::span<const double> h, std::span<const double> q) {
    weight_total_ = sum(h.data(), h.size());
    present_ = wanted && weight_total_ > 0.0;
    if (present_) gradient_total_ = sum(q.data(), q.size());
  }

  MINIMAND_INLINE bool present() const { return present_; }
  MINIMAND_INLINE double weight_total() const { return weight_total_; }
  MINIMAND_INLINE double shift() const { return shift_; }

  /// Minus the part of b that q does not contain yet.
  MINIMAND_INLINE double offset() const { return present_ ? gradient_total_ / weight_total_ : 0.0; }

  /// A column whose weighted sum is `weighted_sum` moved by delta.
  MINIMAND_INLINE void moved(double weighted_sum, double delta) {
    gradient_total_ += weighted_sum * delta;
  }

  /// Q, and its change by moves that were made elsewhere.
  MINIMAND_INLINE double gradient_total() const { return gradient_total_; }
  MINIMAND_INLINE void add_to_total(double change) { gradient_total_ += change; }

  /// Adds b to q in O(rows). Q is summed anew, because rounding errors of the running Q grow.
  template <class Rows>
  MINIMAND_INLINE void recentre(Rows& rows) {
    if (!present_) return;
    const double more = -rows.gradient_total() / weight_total_;
    rows.add_constant(more);
    shift_ += more;
    gradient_total_ = 0.0;
  }

 private:
  bool present_ = false;
  double weight_total_ = 0.0;
  double gradient_total_ = 0.0;
  double shift_ = 0.0;
};

/// The centred second moment of a column, zero for one that is constant up to rounding: its
/// gradient and curvature are rounding errors, and their quotient could be a very long step.
MINIMAND_INLINE double centred_curvature(double raw, double centred) {
  constexpr double kRoundingError = 1e-26;  // share of the raw moment; safeguard: about (50 eps)^2
  return centred > kRoundingError * raw ? centred : 0.0;
}

/// Whether all weights are the same number, as they are for a least-squares loss.
inline bool is_uniform(std::span<const double> h) {
  for (const double weight : h) {
    if (weight != h.front()) return false;
  }
  return true;
}

}  // namespace minimand
