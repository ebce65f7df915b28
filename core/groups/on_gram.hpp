#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "descent/gram_steps.hpp"
#include "groups/penalties.hpp"

namespace minimand {

/// 0.5 sum_c w_c'G w_c + q'w + 0.5 square, a mean of squares: every score c has the same matrix G.
struct GroupModel {
  GramView gram;
  std::span<const double> q;
  double square;
};

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
  void describe(const GroupModel& model, const GroupPenalties& penalties,
                std::span<const double> w);
  double shortfall(const GroupModel& model, const GroupPenalties& penalties,
                   std::span<const double> w) const;
  bool newton(const GroupModel& model, const GroupPenalties& penalties, std::span<double> w,
              double share);
  void gather(const GroupModel& model, const GroupPenalties& penalties, std::span<const double> w);
  void direction(std::size_t scores, double share);
  bool go_along(const GroupPenalties& penalties, std::span<double> w);

  std::vector<double> gradient_;  // q + Gw, kept up to date
  std::vector<double> steep_;     // by group: a bound of the eigenvalues of its matrix
  std::vector<double> most_l2_;   // by group
  std::vector<double> sizes_;     // by group: squared lengths
  std::vector<double> room_[4];   // of one group's numbers
  std::vector<std::size_t> all_;  // groups, scratch

  // Of the groups that take part in a Newton step, one after the other.
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

  void product(std::span<const double> d, std::span<double> image, std::size_t scores) const;
  void precondition(std::span<const double> r, std::span<double> x, std::size_t scores) const;
};

/// gradient += G[:, first ... first + rows) delta, for several scores.
void add_block(const GramView& gram, std::size_t first, std::size_t rows,
               std::span<const double> delta, std::size_t scores, std::span<double> gradient);

}  // namespace minimand
