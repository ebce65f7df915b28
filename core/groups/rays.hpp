#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "groups/newton.hpp"
#include "groups/penalties.hpp"
#include "groups/quadratic.hpp"

namespace minimand {

/// Minimises over the lengths of the groups: each one that is not zero becomes (1 + x) w_g.
///
/// Norms are linear there, so that x is the minimiser of a quadratic, of one number per group. It
/// counts more than all other directions: slopes that balance the penalty along w_g and are off by
/// p across it exceed the norm by |p|^2 only, and the gap with them.
class GroupRays {
 public:
  /// Solves until what is left costs no more of the gap than this; whether w moved. Each group may
  /// be made shorter than is best, so that its slope is less by a share: `less` has them by group.
  bool step(GroupQuadratic& loss, const GroupPenalties& penalties, GroupPoint point, double goal,
            std::span<const double> less = {});

 private:
  void describe(GroupQuadratic& loss, const GroupPenalties& penalties, GroupPoint point);
  void solve(GroupQuadratic& loss, double goal);
  double price() const;
  bool falls(GroupQuadratic& loss);
  void product(GroupQuadratic& loss, std::span<const double> x, std::span<double> image) const;

  std::vector<std::size_t> groups_;
  std::vector<double> slopes_, charges_, squares_, bends_;
  std::vector<double> step_, residual_, ready_, move_, image_;
};

}  // namespace minimand
