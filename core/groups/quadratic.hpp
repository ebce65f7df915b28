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

/// 0.5 sum_c d_c'G d_c + q'd + 0.5 square, a mean of squares, for d = w - origin at a point w that
/// moves: every score c has the same matrix G. How G is known is left to the classes below.
class GroupQuadratic {
 public:
  GroupQuadratic(std::span<const std::int64_t> starts, std::size_t scores);
  virtual ~GroupQuadratic() = default;

  /// Which quadratic it is; without an origin, that is zero. If it is the last one, perhaps with
  /// more rows, it stays where it is.
  void pose(std::span<const double> q, std::span<const double> origin, double square);

  /// Goes to w, and looks everywhere; the place before is remembered.
  void start(std::span<const double> w);

  /// Goes on by `ahead` times the way from the place before, and remembers this one.
  void go_on(double ahead);

  /// These coefficients are the place that moves have led to; whether all slopes were looked at.
  void arrive(std::span<const double> w, bool looked);

  /// Whether it is at `here`, and was at `before` before it arrived there.
  bool came(std::span<const double> before, std::span<const double> here) const;

  /// Slopes of rows that nobody has looked at since the last move may be out of date.
  std::span<const double> slopes() const { return slopes_; }
  virtual void look(Rows rows) = 0;
  virtual void look_everywhere() = 0;

  /// w += change in `groups` groups from `first` on.
  virtual void move(std::size_t first, std::size_t groups, std::span<const double> change) = 0;

  virtual OwnMatrix own(std::size_t group) = 0;

  /// A bound of the eigenvalues of that matrix.
  double steep(std::size_t group);

  /// Selects the rows of a Newton step.
  virtual void choose(std::span<const Rows> parts) = 0;

  /// image = G d on the selected rows; not more accurate than a Newton step needs.
  virtual void multiply(std::span<const double> d, std::span<double> image) = 0;

  /// Whether groups have so many rows that a number for each of them is far less than w has.
  bool has_rays() const { return has_rays_; }

  /// The same as `move` for one group, which comes to `own` and may be selected as a ray.
  virtual void move_ray(std::size_t group, std::span<const double> change,
                        std::span<const double> own) = 0;

  /// Selects groups that will be stretched: w_g becomes (1 + x_g) w_g.
  virtual void choose_rays(std::span<const std::size_t> groups, std::span<const double> w) = 0;

  /// Slopes along x, and the diagonal of the matrix of x, and products with it.
  virtual void slopes_of_rays(std::span<double> slopes) = 0;
  virtual void bends_of_rays(std::span<double> bends) = 0;
  virtual void multiply_rays(std::span<const double> x, std::span<double> image) = 0;
  virtual void stretch(std::span<const double> x) = 0;

  Rows rows_of(std::size_t group) const;
  Rows rows_of(std::size_t first, std::size_t groups) const;
  std::size_t count() const { return starts_.size() - 1; }
  std::size_t scores() const { return scores_; }
  std::span<const double> q() const { return q_; }
  double origin(std::size_t i) const { return origin_.empty() ? 0.0 : origin_[i]; }
  double square() const { return square_; }

 protected:
  virtual void begin() = 0;                // goes to the origin
  virtual void remember() = 0;             // this place, as the place before
  virtual void draw_on(double ahead) = 0;  // see `go_on`
  virtual void look_back(Rows rows) = 0;   // the slopes of these rows here, and at the place before
  virtual void recall(std::size_t group) = 0;  // this group is where it was at the place before

  /// More rows, in groups that follow the others.
  void grow(std::span<const std::int64_t> starts);

  /// The quadratic has changed.
  void forget() { forgets_ = true; }

  std::vector<double> slopes_;  // q + G(w - origin)
  std::vector<double> steep_;   // by group; negative: not known yet

 private:
  std::span<const std::int64_t> starts_;
  std::vector<double> q_;
  std::span<const double> origin_;
  std::vector<double> here_, before_;  // coefficients of the places; empty: not known
  bool forgets_ = false;               // whether slopes there are those of another quadratic
  double square_ = 0.0;
  std::size_t scores_;
  bool has_rays_;
};

}  // namespace minimand
