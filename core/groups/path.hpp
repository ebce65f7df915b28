#pragma once

#include <cstddef>
#include <span>

#include "groups/minimiser.hpp"

namespace minimand {

/// One problem per alpha; `norm` has a row for each, of one number per group, the others one of as
/// many numbers as q.
struct GroupGrid {
  std::span<const double> alphas;
  std::span<const std::int64_t> starts;
  std::span<const double> norm;
  std::span<const double> l1;
  std::span<const double> l2;
  std::span<double> coefs;
  std::size_t scores;

  GroupPenalties penalties(std::size_t row) const {
    const std::size_t count = starts.size() - 1, size = l1.size() / alphas.size();
    return {starts, norm.subspan(row * count, count), l1.subspan(row * size, size),
            l2.subspan(row * size, size), scores};
  }
};

/// Solves one row of the grid after the other, from row `first` on. Rows before it hold models of
/// the path; row `first` holds where to start if `started`, and else begins where a line through
/// the last two rows leads, as all further ones do. Returns the first row that is not solved.
std::size_t solve_groups(GroupQuadratic& loss, const GroupGrid& grid, std::size_t first,
                         bool started, GroupGoal goal);

}  // namespace minimand
