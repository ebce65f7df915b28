#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "groups/sweeps.hpp"

namespace minimand {

/// Newton steps on the numbers that are not zero, by conjugate gradients.
class GroupNewton {
 public:
  /// One step, with conjugate gradients until this share of their energy is left; whether w moved.
  bool step(const GramView& gram, const GroupPenalties& penalties, GroupFacts& facts,
            std::span<double> w, double share);

 private:
  void gather(const GramView& gram, const GroupPenalties& penalties, const GroupFacts& facts,
              std::span<const double> w);
  void direction(std::size_t scores, double share);
  bool go_along(const GroupPenalties& penalties, const GroupFacts& facts,
                std::span<const double> w);
  void product(std::span<const double> d, std::span<double> image, std::size_t scores) const;
  void precondition(std::span<const double> r, std::span<double> x, std::size_t scores) const;

  // Of the groups that take part in a step, one after the other.
  struct Member {
    std::size_t group, row, rows;  // the first row within the step
    double bend;                   // norm/|w|
    double along;                  // w' K^-1 w / |w|^2, K = matrix + (bend + l2) of the group
    std::size_t factor;            // where its Cholesky factor begins
  };
  std::vector<Member> members_;
  std::vector<std::size_t> rows_;                   // rows of the Gram
  std::vector<double> matrix_, factors_;            // of these rows; of single groups
  std::vector<double> start_, unit_, radial_, l2_;  // numbers of these rows; K^-1 unit
  std::vector<char> held_;                          // numbers that stay zero
  std::vector<double> right_, step_, residual_, ready_, move_, image_, target_;
};

}  // namespace minimand
