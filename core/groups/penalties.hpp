#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/targets.hpp"

// sum_g norm_g |w_g| + sum l1 |w| + 0.5 sum l2 w^2. The coefficients are rows of `scores` numbers;
// a group is a run of rows.
namespace minimand {

struct GroupPenalties {
  std::span<const std::int64_t> starts;  // the first row of every group, and the end of the last
  std::span<const double> norm;          // by group
  std::span<const double> l1;            // by number
  std::span<const double> l2;
  std::size_t scores;

  std::size_t count() const { return norm.size(); }
  MINIMAND_INLINE std::size_t first_row(std::size_t g) const {
    return static_cast<std::size_t>(starts.data()[g]);
  }
  MINIMAND_INLINE std::size_t rows_of(std::size_t g) const {
    return first_row(g + 1) - first_row(g);
  }
  MINIMAND_INLINE std::size_t begin(std::size_t g) const { return scores * first_row(g); }
  MINIMAND_INLINE std::size_t size_of(std::size_t g) const { return scores * rows_of(g); }
};

MINIMAND_INLINE double squared_length(const double* x, std::size_t size) {
  double sum = 0.0;
  for (std::size_t i = 0; i < size; ++i) sum += x[i] * x[i];
  return sum;
}

MINIMAND_INLINE double soft(double u, double l1) {
  const double left = std::fabs(u) - l1;
  return left > 0.0 ? std::copysign(left, u) : 0.0;
}

/// What norm and l1 charge for a group, with the squares of l2.
MINIMAND_INLINE double group_charge(const GroupPenalties& penalties, std::size_t g,
                                    const double* x) {
  const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
  double sum = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    sum += penalties.l1.data()[begin + i] * std::fabs(x[i]) +
           0.5 * penalties.l2.data()[begin + i] * x[i] * x[i];
  }
  const double norm = penalties.norm.data()[g];
  return norm > 0.0 ? sum + norm * std::sqrt(squared_length(x, size)) : sum;
}

/// x = argmin of -u'x + 0.5 sum bend x^2 + norm |x| + sum l1 |x|; whether x is not zero.
///
/// With c = soft(u, l1), x (norm/|x| + bend) = c. If the bends differ, |x| is the root of a scalar
/// equation in t: sum (c / (norm + t bend))^2 = 1. One over the root of that sum is concave and
/// rises with t, so that Newton's steps from below never pass the root.
MINIMAND_INLINE bool block_minimiser(const double* u, const double* bend, const double* l1,
                                     double norm, std::size_t size, double* x) {
  constexpr int kSteps = 50;          // of the scalar equation, of which five are usual; safeguard
  constexpr double kSettled = 1e-14;  // share of t: rounding; safeguard
  double square = 0.0, most = 0.0, least = INFINITY;
  for (std::size_t i = 0; i < size; ++i) {
    x[i] = soft(u[i], l1[i]);
    square += x[i] * x[i];
    if (x[i] != 0.0) {
      most = bend[i] > most ? bend[i] : most;
      least = bend[i] < least ? bend[i] : least;
    }
  }
  const double length = std::sqrt(square);
  if (!(length > norm)) {
    for (std::size_t i = 0; i < size; ++i) x[i] = 0.0;
    return false;
  }
  if (!(least > 0.0)) return false;  // without curvature there is no minimiser
  if (norm == 0.0) {
    for (std::size_t i = 0; i < size; ++i) x[i] = x[i] != 0.0 ? x[i] / bend[i] : 0.0;
    return true;
  }
  double t = (length - norm) / most;
  if (least < most) {
    for (int step = 0; step < kSteps; ++step) {
      double sum = 0.0, fall = 0.0;
      for (std::size_t i = 0; i < size; ++i) {
        const double under = norm + t * bend[i];
        const double share = x[i] / under;
        sum += share * share;
        fall += share * share * bend[i] / under;
      }
      const double more = sum * (std::sqrt(sum) - 1.0) / fall;
      if (!(more > kSettled * t)) break;
      t += more;
    }
  }
  for (std::size_t i = 0; i < size; ++i) x[i] = x[i] * t / (norm + t * bend[i]);
  return true;
}

}  // namespace minimand
