#include "scalar/residuals.hpp"

#include <cmath>

#include "lanes.hpp"
#include "parallel.hpp"

namespace minimand {

ResidualSums residual_row(double* z, Targets targets, bool centre, double* shift, double* residual,
                          double* weighted);

namespace {

/// sum_i mass_i (y_i - z_i).
MINIMAND_INLINE double mean_shortfall(const double* z, Targets targets) {
  const std::size_t n = targets.y.size();
  const double* y = targets.y.data();
  const double* mass = targets.mass.data();
  Lanes even = {}, odd = {};
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    even += load_lanes(mass + i) * (load_lanes(y + i) - load_lanes(z + i));
    odd +=
        load_lanes(mass + i + kLanes) * (load_lanes(y + i + kLanes) - load_lanes(z + i + kLanes));
  }
  double tail = 0.0;
  for (; i < n; ++i) tail += mass[i] * (y[i] - z[i]);
  return sum_lanes(even + odd) + tail;
}

MINIMAND_INLINE Lanes absolute(Lanes x) { return select(x < Lanes{}, -x, x); }

}  // namespace

MINIMAND_CLONES ResidualSums residual_row(double* z, Targets targets, bool centre, double* shift,
                                          double* residual, double* weighted) {
  const std::size_t n = targets.y.size();
  const double* y = targets.y.data();
  const double* mass = targets.mass.data();
  const double more = centre ? mean_shortfall(z, targets) : 0.0;
  *shift += more;
  Lanes mean = {}, size = {}, square = {}, score_times = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes score = load_lanes(z + i) + same_lanes(more);
    const Lanes r = score - load_lanes(y + i);
    const Lanes u = load_lanes(mass + i) * r;
    store_lanes(z + i, score);
    store_lanes(residual + i, r);
    store_lanes(weighted + i, u);
    mean += u;
    size += absolute(u);
    square += u * r;
    score_times += absolute(u * score);
  }
  ResidualSums sums{sum_lanes(mean), sum_lanes(size), sum_lanes(square), sum_lanes(score_times)};
  for (; i < n; ++i) {
    z[i] += more;
    residual[i] = z[i] - y[i];
    weighted[i] = mass[i] * residual[i];
    sums.mean += weighted[i];
    sums.size += std::fabs(weighted[i]);
    sums.square += weighted[i] * residual[i];
    sums.score_times += std::fabs(weighted[i] * z[i]);
  }
  return sums;
}

void residual_rows(std::span<double> scores, Targets targets, bool centre, std::span<double> shifts,
                   std::span<double> residual, std::span<double> weighted,
                   std::span<ResidualSums> sums) {
  const std::size_t n = targets.y.size();
  parallel_ranges(sums.size(), 4 * scores.size(), [&](Range range, std::size_t) {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      sums[k] = residual_row(scores.subspan(k * n, n).data(), targets, centre, &shifts[k],
                             residual.subspan(k * n, n).data(), weighted.subspan(k * n, n).data());
    }
  });
}

}  // namespace minimand
