#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "groups/newton.hpp"
#include "groups/penalties.hpp"
#include "groups/quadratic.hpp"
#include "groups/rays.hpp"

namespace minimand {

/// How far to go, and in how many rounds of sweeps and a Newton step at most.
struct GroupGoal {
  double gap;  // as `GroupMinimiser::shortfall` estimates it
  std::size_t rounds;
};

/// Minimises a quadratic plus group penalties: sweeps over groups find those that are not zero,
/// Newton steps on these end quickly however correlated the columns are.
class GroupMinimiser {
 public:
  /// Moves w, where the quadratic is, to the minimiser; false if the estimated gap stays above the
  /// goal.
  bool minimise(GroupQuadratic& loss, const GroupPenalties& penalties, std::span<double> w,
                GroupGoal goal);

 private:
  void describe(const GroupPenalties& penalties, std::span<const double> w);
  void select(const GroupQuadratic& loss, const GroupPenalties& penalties);
  void sweep(GroupQuadratic& loss, const GroupPenalties& penalties, std::span<double> w,
             int sweeps);
  double step(std::size_t g, GroupQuadratic& loss, const GroupPenalties& penalties,
              std::span<double> w);
  double vanish(std::size_t g, GroupQuadratic& loss, const GroupPenalties& penalties,
                std::span<double> w);
  double shortfall(GroupQuadratic& loss, const GroupPenalties& penalties,
                   std::span<const double> w);

  GroupNewton newton_;
  GroupRays rays_;
  std::vector<double> most_l2_;      // by group
  std::vector<double> sizes_;        // by group: squared lengths
  std::vector<double> excess_;       // by group: share by which slopes exceed what the norm allows
  double largest_excess_ = 0.0;      // of these, and of numbers without a norm
  double trimmed_ = 0.0;             // the gap, if no group that is not zero exceeded it
  std::vector<double> room_[5];      // of one group's numbers
  std::vector<std::size_t> chosen_;  // groups that are not zero, or should not be
};

}  // namespace minimand
