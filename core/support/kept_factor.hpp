#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "descent/gram_steps.hpp"

namespace minimand {

/// The Cholesky factor of G_SS + diag(l2_S) for a set S of columns that changes little at a time.
///
/// A column that joins costs a forward substitution, one that leaves a chain of rotations: both
/// the square of the size of S, as a sweep does, where a factorisation would cost its cube.
class KeptFactor {
 public:
  /// Lets S be the marked columns. A column that depends on the others but for rounding gets a
  /// larger diagonal, so that steps along it are shorter than full ones. Where l2 has changed, the
  /// factor stays as it is while it is near, and `is_of` says so.
  void follow(const GramView& gram, std::span<const double> l2, std::span<const char> wanted);

  /// The columns of S, in the order of the factor.
  std::span<const std::size_t> members() const { return members_; }

  /// Whether the factor is that of G_SS + diag(l2), a number for each member, not of something
  /// near.
  bool is_of(std::span<const double> l2) const;

  /// Solves in place, one number for each of the members.
  void solve(std::span<double> right) const;

  /// Forgets all columns: those of another Gram come next.
  void clear();

 private:
  bool is_near(std::span<const double> l2) const;
  void drop(std::span<const char> wanted);
  void append(const GramView& gram, std::span<const double> l2, std::span<const char> wanted);
  void reserve(std::size_t size);

  std::size_t room_ = 0;       // rows of `lower_` lie so far apart
  std::vector<double> lower_;  // row by row
  std::vector<std::size_t> members_;
  std::vector<double> added_;  // the l2 that the factor holds, by member
  std::vector<double> cosines_, sines_;
};

}  // namespace minimand
