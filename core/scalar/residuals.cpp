#include "scalar/residuals.hpp"

#include <cmath>
#include <limits>

#include "common/lanes.hpp"
#include "common/parallel.hpp"

namespace minimand {

ResidualSums residual_row(std::span<double> scores, Targets targets, bool centre, double& shift,
                          std::span<double> residuals);
double residual_shift_of(std::span<const double> scores, Targets targets);
HuberScale huber_scale_of(std::span<const double> residuals, std::span<const double> mass,
                          double knot);

namespace {

/// Sums of mass r^2 inside, of mass outside, and of mass |r| outside.
struct InsideOutside {
  double square;
  double mass;
  double size;
};

MINIMAND_INLINE Lanes absolute(Lanes x) { return select(x < Lanes{}, -x, x); }

/// r = z - y + shift, and its weighted sum.
MINIMAND_INLINE double subtract(const double* z, Targets targets, double shift, double* r) {
  const std::size_t n = targets.y.size();
  const double* y = targets.y.data();
  const double* mass = targets.mass.data();
  Lanes sum = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes value = load_lanes(z + i) - load_lanes(y + i) + same_lanes(shift);
    store_lanes(r + i, value);
    sum += load_lanes(mass + i) * value;
  }
  double mean = sum_lanes(sum);
  for (; i < n; ++i) {
    r[i] = z[i] - y[i] + shift;
    mean += mass[i] * r[i];
  }
  return mean;
}

/// The sums for residuals divided by `unit`, inside up to `limit`.
MINIMAND_INLINE InsideOutside split_at(std::span<const double> residuals,
                                       std::span<const double> mass, double unit, double limit) {
  const double* r = residuals.data();
  const double* m = mass.data();
  const std::size_t n = residuals.size();
  const Lanes by = same_lanes(unit), most = same_lanes(limit);
  Lanes square = {}, beyond = {}, size = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes x = absolute(load_lanes(r + i)) / by, weight = load_lanes(m + i);
    const Lanes in = select(x <= most, weight, Lanes{}), out = weight - in;
    square += in * x * x;
    beyond += out;
    size += out * x;
  }
  InsideOutside sums{sum_lanes(square), sum_lanes(beyond), sum_lanes(size)};
  for (; i < n; ++i) {
    const double x = std::fabs(r[i]) / unit;
    if (x <= limit) {
      sums.square += m[i] * x * x;
    } else {
      sums.mass += m[i];
      sums.size += m[i] * x;
    }
  }
  return sums;
}

}  // namespace

// The derivative in s is zero where s^2 = mean min(r^2, (knot s)^2), a concave and piecewise linear
// function of s^2: from the mean square, which is not below that point, Newton's steps fall to it
// and end there, each with more samples outside than the last.
MINIMAND_CLONES HuberScale huber_scale_of(std::span<const double> residuals,
                                          std::span<const double> mass, double knot) {
  double largest = 0.0;
  for (const double r : residuals) {
    const double size = std::fabs(r);
    if (!(size <= std::numeric_limits<double>::max())) return {0.0, size};
    largest = size > largest ? size : largest;
  }
  if (largest == 0.0) return {0.0, 0.0};
  InsideOutside sums = split_at(residuals, mass, largest, 1.0);
  double sigma = std::sqrt(sums.square);
  while (sigma > 0.0) {
    sums = split_at(residuals, mass, largest, knot * sigma);
    const double left = 1.0 - knot * knot * sums.mass;
    if (left <= std::numeric_limits<double>::epsilon()) break;  // every smaller scale is as good
    const double next = std::sqrt(sums.square / left);
    if (!(next < sigma)) break;
    sigma = next;
  }
  const double linear = 2.0 * knot * sums.size - knot * knot * sigma * sums.mass;
  const double inside = sigma > 0.0 ? sums.square / sigma : 0.0;
  return {largest * sigma, largest * (sigma + inside + linear)};
}

HuberScale huber_scale(std::span<const double> residuals, std::span<const double> mass,
                       double knot) {
  return huber_scale_of(residuals, mass, knot);
}

MINIMAND_CLONES ResidualSums residual_row(std::span<double> scores, Targets targets, bool centre,
                                          double& shift, std::span<double> residuals) {
  const std::size_t n = targets.y.size();
  const double* mass = targets.mass.data();
  double* z = scores.data();
  double* r = residuals.data();
  double more = 0.0;
  if (centre) {
    shift = -subtract(z, targets, 0.0, r);
    // If residuals are small compared to the scores, the error of the first mean is too large.
    more = -subtract(z, targets, shift, r);
  } else {
    subtract(z, targets, shift, r);
  }
  const Lanes moved = same_lanes(shift + more), rest = same_lanes(more);
  Lanes mean = {}, size = {}, square = {}, score_times = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes score = load_lanes(z + i) + moved;
    const Lanes residual = load_lanes(r + i) + rest;
    const Lanes weighted = load_lanes(mass + i) * residual;
    store_lanes(z + i, score);
    store_lanes(r + i, residual);
    mean += weighted;
    size += absolute(weighted);
    square += weighted * residual;
    score_times += absolute(weighted * score);
  }
  ResidualSums sums{sum_lanes(mean), sum_lanes(size), sum_lanes(square), sum_lanes(score_times)};
  for (; i < n; ++i) {
    z[i] += shift + more;
    r[i] += more;
    const double weighted = mass[i] * r[i];
    sums.mean += weighted;
    sums.size += std::fabs(weighted);
    sums.square += weighted * r[i];
    sums.score_times += std::fabs(weighted * z[i]);
  }
  shift += more;
  return sums;
}

MINIMAND_CLONES double residual_shift_of(std::span<const double> scores, Targets targets) {
  const std::size_t n = scores.size();
  const double* z = scores.data();
  const double* y = targets.y.data();
  const double* mass = targets.mass.data();
  Lanes sum = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    sum += load_lanes(mass + i) * (load_lanes(y + i) - load_lanes(z + i));
  }
  double shift = sum_lanes(sum);
  for (; i < n; ++i) shift += mass[i] * (y[i] - z[i]);
  const Lanes moved = same_lanes(shift);
  Lanes rest = {}, sizes = {};
  for (i = 0; i + kLanes <= n; i += kLanes) {
    const Lanes score = load_lanes(z + i), weight = load_lanes(mass + i);
    const Lanes residual = load_lanes(y + i) - score - moved;
    rest += weight * residual;
    sizes += weight * (absolute(residual) + absolute(score));
  }
  double more = sum_lanes(rest), size = sum_lanes(sizes);
  for (; i < n; ++i) {
    const double residual = y[i] - z[i] - shift;
    more += mass[i] * residual;
    size += mass[i] * (std::fabs(residual) + std::fabs(z[i]));
  }
  return std::fabs(shift) <= std::numeric_limits<double>::epsilon() * size ? 0.0 : shift + more;
}

double residual_shift(std::span<const double> scores, Targets targets) {
  return residual_shift_of(scores, targets);
}

void residual_rows(std::span<double> scores, Targets targets, bool centre, std::span<double> shifts,
                   std::span<double> residuals, std::span<ResidualSums> sums) {
  const std::size_t n = targets.y.size();
  parallel_ranges(sums.size(), 4 * scores.size(), [&](Range range, std::size_t) {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      sums[k] = residual_row(scores.subspan(k * n, n), targets, centre, shifts[k],
                             residuals.subspan(k * n, n));
    }
  });
}

}  // namespace minimand
