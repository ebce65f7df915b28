#pragma once

#include "scalar/exponential.hpp"
#include "scalar/logarithm.hpp"

namespace minimand {

/// log(1 + e^-m) at the margin m = label * score, and its derivatives in the score.
///
/// Only e^-|m| <= 1 ever appears, so nothing overflows and small results keep their accuracy.
class LogisticPoint {
 public:
  MINIMAND_INLINE LogisticPoint(Lanes score, Lanes label) {
    constexpr std::uint64_t kSign = std::uint64_t{1} << 63;  // the sign bit; definition
    label_ = label;
    margin_ = label * score;
    e_ = exponential(lanes_of(bits_of(margin_) | kSign));
    inverse_ = 1.0 / (1.0 + e_);
  }

  MINIMAND_INLINE Lanes value() const {
    const Lanes zero = {};
    return select(margin_ < zero, -margin_, zero) + log_one_plus_fraction(e_);
  }
  MINIMAND_INLINE Lanes gradient() const {
    const Lanes zero = {};
    return -label_ * (select(margin_ < zero, same_lanes(1.0), e_) * inverse_);
  }
  MINIMAND_INLINE Lanes curvature() const { return (e_ * inverse_) * inverse_; }

 private:
  Lanes label_, margin_, e_, inverse_;
};

}  // namespace minimand
