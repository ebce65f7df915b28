#pragma once

#include <span>
#include <vector>

namespace minimand {

/// Extrapolation of a sequence of rounds, each of which takes a point closer to the minimiser of a
/// quadratic with matrix G plus penalties: Anderson's method with the last two rounds.
///
/// A point further along the line through the ends of two rounds is known with its slopes, so that
/// it costs no product with G. Changes of w times changes of the slopes are lengths in G.
class GroupMomentum {
 public:
  /// Forgets all rounds.
  void reset() { rounds_ = 0; }

  /// A round begins at this point.
  void begin(std::span<const double> w, std::span<const double> slopes);

  /// The round ends at this point: how far beyond it to go, in units of the way from the end of the
  /// round before; zero if two rounds do not tell, or if other numbers are zero than then.
  double end(std::span<const double> w, std::span<const double> slopes);

  /// Takes w as far, and keeps the end of the round.
  void go_past(std::span<double> w, double ahead);

  /// Takes w back to the end of the round.
  void go_back(std::span<double> w) const;

 private:
  int rounds_ = 0;                             // that have ended
  std::vector<double> w_, slopes_;             // where this round began
  std::vector<double> change_, slope_change_;  // in the round before
  std::vector<double> end_;                    // of the round before, and after `go_past` of this
};

}  // namespace minimand
