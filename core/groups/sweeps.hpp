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

/// What sweeps and Newton steps know of the groups; both keep it up to date when they move w.
struct GroupFacts {
  std::vector<double> gradient;  // q + Gw
  std::vector<double> steep;     // by group: a bound of the eigenvalues of its matrix
  std::vector<double> most_l2;   // by group
  std::vector<double> sizes;     // by group: squared lengths

  void describe(const GroupModel& model, const GroupPenalties& penalties,
                std::span<const double> w);
};

/// Steps over single groups, one after the other.
class GroupSweeps {
 public:
  /// One sweep over all groups, and some over those that are not zero; what the first one gained.
  double sweep(const GramView& gram, const GroupPenalties& penalties, GroupFacts& facts,
               std::span<double> w);

 private:
  std::vector<double> room_[4];  // of one group's numbers
  std::vector<std::size_t> chosen_;
};

/// gradient += G[:, first ... first + rows) delta, for several scores.
void add_block(const GramView& gram, std::size_t first, std::size_t rows,
               std::span<const double> delta, std::size_t scores, std::span<double> gradient);

}  // namespace minimand
