#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The risers of piecewise linear-quadratic functions in an interior-point method. The readable form
// is `solvers/kinked/slope_rises.py`, whose names and formulas these are.
namespace minimand {

/// Many functions psi of one form, psi' = base + the sum of their risers.
struct RiserForm {
  std::span<const double> base;  // per function, or one number for all of them
  std::span<const double> side;  // per riser, as are knot and bend
  std::span<const double> knot;
  std::span<const double> bend;
  std::span<const double> height;       // of the first risers, which have an end
  std::span<const std::int64_t> where;  // the function of every riser; empty if each has all
  std::span<const double> weight;       // per function; empty if all weigh 1
  double share;                         // the product that a pair aims at, in units of mu
  std::size_t functions;

  /// Numbers of every riser: one, or one for each function.
  std::size_t width() const { return where.empty() ? functions : 1; }
  std::size_t pairs() const { return (side.size() + height.size()) * width(); }
};

/// The risers at a point: pairs (v, q) of all risers, then pairs (s, p) of those with an end.
class Rises {
 public:
  Rises(const RiserForm& form, std::span<double> dual, std::span<double> primal);

  /// The sum of the products at mu = 1.
  double measure() const;
  double products() const;

  /// Newton's equations at mu = 0; `rates` becomes the sum of the rates of every function.
  void begin_step(std::span<const double> t, std::span<double> rates);
  /// The slope of every function after a step with no change of t.
  void pulled(std::span<double> slopes) const;
  /// The change of the pairs due to a step of t.
  void follow(std::span<const double> dt);
  /// The same equations at a given mu, with the second-order terms of the predictor step.
  void recentre(double mu);

  struct Room {
    double dual;
    double primal;
  };
  /// How far the pairs can move along the step.
  Room room() const;
  double products_after(double dual, double primal) const;
  void move(double dual, double primal);

 private:
  std::size_t owner(std::size_t riser, std::size_t j) const {
    return form_.where.empty() ? j : static_cast<std::size_t>(form_.where[riser]);
  }
  double weight(std::size_t riser, std::size_t j) const {
    return form_.weight.empty() ? 1.0 : form_.weight[owner(riser, j)];
  }

  RiserForm form_;
  std::size_t width_, all_, ended_;  // numbers of a riser, of all risers, of those with an end
  std::span<double> dual_, primal_;
  std::vector<double> d_dual_, d_primal_, goal_, rate_, pull_, lag_;
};

}  // namespace minimand
