#pragma once

#include <cstddef>
#include <span>

#include "groups/newton.hpp"
#include "groups/penalties.hpp"
#include "groups/sweeps.hpp"

namespace minimand {

/// How far to go, and in how many rounds of sweeps and a Newton step at most.
struct GroupGoal {
  double gap;  // as `GroupsOnGram::shortfall` estimates it
  std::size_t rounds;
};

/// Minimises a quadratic plus group penalties on a Gram matrix: sweeps over groups find those that
/// are not zero, Newton steps on these end quickly however correlated the columns are.
class GroupsOnGram {
 public:
  /// Moves w to the minimiser; false if the estimated gap stays above the goal.
  bool minimise(const GroupModel& model, const GroupPenalties& penalties, std::span<double> w,
                GroupGoal goal);

 private:
  double shortfall(const GroupModel& model, const GroupPenalties& penalties,
                   std::span<const double> w) const;

  GroupFacts facts_;
  GroupSweeps sweeps_;
  GroupNewton newton_;
};

}  // namespace minimand
