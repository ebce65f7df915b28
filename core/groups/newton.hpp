#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "groups/penalties.hpp"
#include "groups/quadratic.hpp"

namespace minimand {

/// Where a minimiser is: the coefficients, and the squared lengths of the groups.
struct GroupPoint {
  std::span<double> w;
  std::span<double> sizes;
};

/// Newton steps on the numbers that are not zero, by conjugate gradients.
class GroupNewton {
 public:
  /// One step, up to this share of the energy of its residual; whether w moved. The slopes of the
  /// groups that are not zero must be up to date.
  bool step(GroupQuadratic& loss, const GroupPenalties& penalties, GroupPoint point, double share);

 private:
  // Of the groups that take part, one after the other.
  struct Member {
    std::size_t group, row, rows;  // the first row within the step
    double bend;                   // norm/|w|
    double along;                  // unit'K^-1 unit, K = matrix + (bend + l2) of the group
    std::size_t factor;            // where its Cholesky factor begins
  };

  void gather(GroupQuadratic& loss, const GroupPenalties& penalties, GroupPoint point);
  void describe(Member& member, GroupQuadratic& loss, const GroupPenalties& penalties,
                GroupPoint point);
  void direction(GroupQuadratic& loss, double share);
  bool go_along(GroupQuadratic& loss, const GroupPenalties& penalties, GroupPoint point);
  void product(GroupQuadratic& loss, std::span<const double> d, std::span<double> image) const;
  void precondition(std::span<const double> r, std::span<double> x, std::size_t scores) const;
  void hold(std::span<double> x) const;  // zero for numbers that are held
  bool passes_zero(const Member& member, double share, std::size_t scores) const;

  std::vector<Member> members_;
  std::vector<Rows> parts_;
  std::vector<double> factors_;                     // of single groups
  std::vector<double> start_, unit_, radial_, l2_;  // numbers of these rows; K^-1 unit
  std::vector<char> held_;                          // numbers that stay zero
  bool any_held_ = false;
  std::vector<double> right_, step_, residual_, ready_, move_, image_, target_;
};

}  // namespace minimand
