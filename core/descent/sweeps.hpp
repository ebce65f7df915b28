#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "common/targets.hpp"
#include "common/watch.hpp"

namespace minimand {

inline constexpr std::size_t kStepsBetweenLooks = 32;  // steps; safeguard: looks cost little then

struct SweepReport {
  std::int64_t epochs;
  double decrease;
};

/// The l1 and l2 weights of each coordinate, and the bounds it must keep: empty where there are
/// none.
struct Penalties {
  std::span<const double> l1;
  std::span<const double> l2;
  std::span<const double> lo = {};
  std::span<const double> hi = {};

  /// The nearest point within the bounds of coordinate j.
  MINIMAND_INLINE double clipped(std::size_t j, double value) const {
    if (lo.empty()) return value;
    if (value < lo.data()[j]) return lo.data()[j];
    return value > hi.data()[j] ? hi.data()[j] : value;
  }
};

struct StopRule {
  std::int64_t max_epochs;
  double tolerance;
};

/// The exact minimiser over t of gradient (t - w) + curvature/2 (t - w)^2 + l1 |t| + l2/2 t^2.
/// With bounds the minimiser is clipped to them, since the function is convex.
MINIMAND_INLINE double coordinate_minimiser(double w, double gradient, double curvature, double l1,
                                            double l2) {
  const double total = curvature + l2;
  // The loss does not depend on this coordinate: with a penalty its minimum is at zero.
  if (!(total > 0.0)) return l1 > 0.0 ? 0.0 : w;
  const double u = curvature * w - gradient;
  if (u > l1) return (u - l1) / total;
  if (u < -l1) return (u + l1) / total;
  return 0.0;
}

/// One step along every coordinate, or along some, one after the other, by descent.step(j), which
/// minimises over coordinate j and returns the decrease. descent.begin_full_sweep() may correct
/// rounding.
template <class Descent>
struct OneByOne {
  Descent& descent;
  std::size_t count;

  /// False if the watch says stop.
  MINIMAND_INLINE bool all(double& decrease) {
    descent.begin_full_sweep();
    for (std::size_t j = 0; j < count; ++j) {
      if (j % kStepsBetweenLooks == kStepsBetweenLooks - 1 && stopping()) return false;
      decrease += descent.step(j);
    }
    return true;
  }

  MINIMAND_INLINE double some(std::span<const std::size_t> chosen) {
    const std::size_t* const places = chosen.data();
    double decrease = 0.0;
    for (std::size_t k = 0; k < chosen.size(); ++k) decrease += descent.step(places[k]);
    return decrease;
  }
};

template <class Descent>
MINIMAND_INLINE OneByOne<Descent> one_by_one(Descent& descent, std::size_t count) {
  return {descent, count};
}

/// Sweeps until a full sweep decreases the objective by no more than the tolerance.
///
/// After each full sweep, sweeps over the nonzero coordinates alone until they gain little more.
/// `active` is scratch space for as many coordinates as w has. Also stops if the decrease is NaN,
/// and if the watch says stop: the decrease is then infinite.
template <class Sweeps>
MINIMAND_INLINE SweepReport sweep_until_settled(Sweeps&& sweeps, std::span<const double> w,
                                                std::span<std::size_t> active, StopRule stop) {
  // Inner sweeps end when their decrease is this share of the full sweep's; safeguard.
  constexpr double kInnerReduction = 1e-2;
  const std::size_t n = w.size();
  const double* values = w.data();
  std::size_t* chosen = active.data();
  constexpr double kUnsettled = std::numeric_limits<double>::infinity();
  SweepReport report{0, kUnsettled};
  while (report.epochs < stop.max_epochs) {
    double decrease = 0.0;
    if (!sweeps.all(decrease)) return {report.epochs, kUnsettled};
    ++report.epochs;
    report.decrease = decrease;
    if (!(decrease > stop.tolerance)) break;
    if (stopping()) return {report.epochs, kUnsettled};

    std::size_t count = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (values[j] != 0.0) chosen[count++] = j;
    }
    const double reduced = kInnerReduction * decrease;
    const double enough = reduced > stop.tolerance ? reduced : stop.tolerance;
    while (report.epochs < stop.max_epochs) {
      const double inner = sweeps.some(active.first(count));
      ++report.epochs;
      if (stopping()) return {report.epochs, kUnsettled};
      if (!(inner > enough)) break;
    }
  }
  return report;
}

}  // namespace minimand
