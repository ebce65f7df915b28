#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "descent/gram_steps.hpp"

namespace minimand {

/// The Cholesky factor of G_SS + diag(l2_S) for a set S of columns that changes little at a time.
///
/// Adding a column costs a forward substitution, removing one costs a chain of rotations. Both cost
/// |S|^2 operations, as a sweep does, while a new factorisation would cost |S|^3.
class KeptFactor {
 public:
  /// Makes S the marked columns. A column that depends on the others up to rounding gets a larger
  /// diagonal, so that steps along it are shorter than full ones. If l2 has changed by a small
  /// factor, the factor is not updated, and `is_of` returns false.
  void follow(const GramView& gram, std::span<const double> l2, std::span<const char> wanted);

  /// The columns of S, in the order of the factor.
  std::span<const std::size_t> members() const { return members_; }

  /// Whether the factor is exactly that of G_SS + diag(l2), a number for each member, not of an
  /// earlier l2.
  bool is_of(std::span<const double> l2) const;

  /// Solves in place, one number for each of the members.
  void solve(std::span<double> right) const;

  /// Removes all columns, before another Gram is used.
  void clear();

 private:
  bool is_near(std::span<const double> l2) const;
  void drop(std::span<const char> wanted);
  void append(const GramView& gram, std::span<const double> l2, std::span<const char> wanted);
  void reserve(std::size_t size);

  std::size_t room_ = 0;       // elements from one row of `lower_` to the next
  std::vector<double> lower_;  // row by row
  std::vector<std::size_t> members_;
  std::vector<double> added_;  // the l2 that the factor holds, by member
  std::vector<double> cosines_, sines_;
};

}  // namespace minimand
