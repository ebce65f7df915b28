#include "scalar/residuals.hpp"

#include <cmath>
#include <limits>

#include "common/lanes.hpp"
#include "common/parallel.hpp"

namespace minimand {

ResidualSums residual_row(std::span<double> scores, Targets targets, bool centre, double& shift,
                          std::span<double> residuals);
double residual_shift_of(std::span<const double> scores, Targets targets);

namespace {

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

}  // namespace

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
