#include "path/group_gap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace minimand {
namespace {

// Scaled points stay inside with rounding.
constexpr double kInside = 1.0 - 1e-14;  // factor; safeguard

struct Group {
  double size;    // |w|
  double length;  // |gradient|
  double angle;   // 0.5 |w| times the squared distance of the directions of w and -gradient
};

MINIMAND_INLINE Group group_of(const double* slope, const double* w, std::size_t count) {
  double size = 0.0, length = 0.0;
  for (std::size_t c = 0; c < count; ++c) {
    size += w[c] * w[c];
    length += slope[c] * slope[c];
  }
  size = std::sqrt(size);
  length = std::sqrt(length);
  double apart = 0.0;
  for (std::size_t c = 0; c < count; ++c) {
    const double own = (size > 0.0 ? w[c] / size : 0.0) + (length > 0.0 ? slope[c] / length : 0.0);
    apart += own * own;
  }
  return {size, length, 0.5 * size * apart};
}

struct Groups {
  double residual_square;
  std::span<const double> slope;
  std::span<const double> w;
  GroupNorms penalties;

  MINIMAND_INLINE std::size_t begin(std::size_t g) const {
    return static_cast<std::size_t>(penalties.starts.data()[g]);
  }
  MINIMAND_INLINE Group group(std::size_t g) const {
    return group_of(slope.data() + begin(g), w.data() + begin(g), begin(g + 1) - begin(g));
  }

  /// The largest s <= 1 with s |gradient| <= norm: where there is no l2, or wherever there is a
  /// norm.
  MINIMAND_INLINE double scale(bool only_without_l2) const {
    double least = 1.0;
    for (std::size_t g = 0; g < penalties.norm.size(); ++g) {
      const double norm = penalties.norm.data()[g], length = group(g).length;
      const bool limits = only_without_l2 ? !(penalties.l2.data()[g] > 0.0) : norm > 0.0;
      if (limits && length > norm) least = std::min(least, norm / length * kInside);
    }
    return least;
  }

  MINIMAND_INLINE double gap(double s) const {
    double total = 0.5 * (1.0 - s) * (1.0 - s) * residual_square;
    for (std::size_t g = 0; g < penalties.norm.size(); ++g) {
      const double norm = penalties.norm.data()[g], l2 = penalties.l2.data()[g];
      const auto [size, length, angle] = group(g);
      const double reach = s * length;
      const bool outside = reach > norm;
      if (outside && !(l2 > 0.0)) return std::numeric_limits<double>::infinity();
      total += size * std::max(norm - reach, 0.0) + std::min(reach, norm) * angle;
      if (!(l2 > 0.0)) continue;
      const double share = outside ? s * (1.0 - norm / reach) : 0.0;
      double missing = 0.0;
      for (std::size_t i = begin(g); i < begin(g + 1); ++i) {
        const double rest = share * slope.data()[i] + l2 * w.data()[i];
        missing += rest * rest;
      }
      total += 0.5 * missing / l2;
    }
    return total;
  }

  MINIMAND_INLINE double price() const {
    double total = 0.0;
    for (std::size_t g = 0; g < penalties.norm.size(); ++g) {
      const double size = group(g).size;
      total += (penalties.norm.data()[g] + 0.5 * penalties.l2.data()[g] * size) * size;
    }
    return total;
  }
};

}  // namespace

MINIMAND_CLONES SquaredModel gap_of_groups(double residual_square, std::span<const double> slope,
                                           std::span<const double> w, GroupNorms penalties) {
  const Groups groups{residual_square, slope, w, penalties};
  const double needed = groups.scale(true), boxed = groups.scale(false);
  SquaredGap best{groups.gap(needed), needed};
  if (boxed < needed) {
    const double other = groups.gap(boxed);
    if (other < best.gap) best = {other, boxed};
  }
  return {best, groups.price()};
}

}  // namespace minimand
