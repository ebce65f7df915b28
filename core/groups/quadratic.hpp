#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace minimand {

/// Rows of G that follow each other.
struct Rows {
  std::size_t first, count;
};

/// The part of G that belongs to the rows of one group, itself a square matrix.
struct OwnMatrix {
  const double* values;
  std::size_t stride;

  const double* row(std::size_t i) const { return values + i * stride; }
};

/// 0.5 sum_c w_c'G w_c + q'w + 0.5 square, a mean of squares, at a point w that moves: every score
/// c has the same matrix G. How G is known is left to the classes below.
class GroupQuadratic {
 public:
  GroupQuadratic(std::span<const std::int64_t> starts, std::span<const double> q, double square,
                 std::size_t scores);
  virtual ~GroupQuadratic() = default;

  /// Goes to w, and looks everywhere.
  void start(std::span<const double> w);

  /// Slopes of rows that nobody has looked at since the last move may be out of date.
  std::span<const double> slopes() const { return slopes_; }
  virtual void look(Rows rows) = 0;
  virtual void look_everywhere() = 0;

  /// w[rows] += change.
  virtual void move(Rows rows, std::span<const double> change) = 0;

  virtual OwnMatrix own(std::size_t group) = 0;

  /// A bound of the eigenvalues of that matrix.
  double steep(std::size_t group);

  /// Selects the rows of a Newton step.
  virtual void choose(std::span<const Rows> parts) = 0;

  /// image = G d on the selected rows; not more accurate than a Newton step needs.
  virtual void multiply(std::span<const double> d, std::span<double> image) = 0;

  Rows rows_of(std::size_t group) const;
  std::size_t count() const { return starts_.size() - 1; }
  std::size_t scores() const { return scores_; }
  std::span<const double> q() const { return q_; }
  double square() const { return square_; }

 protected:
  virtual void begin() = 0;  // goes to w = 0

  std::vector<double> slopes_;  // q + Gw

 private:
  std::span<const std::int64_t> starts_;
  std::span<const double> q_;
  double square_;
  std::size_t scores_;
  std::vector<double> steep_;  // by group; negative: not known yet
};

}  // namespace minimand
