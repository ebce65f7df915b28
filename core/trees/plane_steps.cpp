#include <algorithm>
#include <cmath>
#include <limits>

#include "trees/plane_ascent.hpp"

// How the weights of a `PlaneAscent` follow a step of one unit.
namespace minimand {
namespace {

constexpr double kLongest = 100.0;  // times the step that is always safe; safeguard
constexpr int kTrials = 8;          // lengths that a line search tries; safeguard
constexpr double kFlat = 0.1;       // share of a slope that it leaves; safeguard

/// How fast D rises after t of a change of the betas, over the mass of the unit.
MINIMAND_CLONES double rise_at(const std::vector<PlaneAscent::Moved>& line, double t, double costs,
                               double rate) {
  double rise = 0.0;
  for (const auto& [moves, pull, by] : line) rise += moves * shrunk(pull + t * moves, by);
  return costs - rise / rate;
}

}  // namespace

/// The change of the weights that belongs to `change_`.
void PlaneAscent::move(const Unit& unit, double rate) {
  sum_change(unit);
  for (std::size_t a = 0; a < unit.atoms.size(); ++a) {
    if (atoms_[a] != 0.0) add(unit.atoms[a], -rate * atoms_[a], w_);
  }
}

/// `change_` by atoms.
void PlaneAscent::sum_change(const Unit& unit) {
  std::fill(atoms_.begin(), atoms_.end(), 0.0);
  for (std::size_t c = 1; c < unit.planes.size(); ++c) {
    if (change_[c] == 0.0) continue;
    const Plane& plane = unit.planes[c];
    for (std::size_t e = 0; e < plane.atoms.size(); ++e) {
      atoms_[plane.atoms[e]] += change_[c] * plane.values[e];
    }
  }
}

/// The same with an l1 part, after a line search beyond the change, whose D is concave.
void PlaneAscent::move_shrunk(Unit& unit, double rate) {
  sum_change(unit);
  for (std::size_t a = 0; a < unit.atoms.size(); ++a) {
    if (atoms_[a] == 0.0) continue;
    each_place(unit.atoms[a], [&](std::size_t j) {
      if (is_touched_[j] != 0) return;
      is_touched_[j] = 1;
      touched_.push_back(j);
    });
    add(unit.atoms[a], atoms_[a], scratch_);
  }
  std::size_t n = 0;  // of them those that change, one after the other
  for (const std::size_t j : touched_) {
    const double moves = scratch_[j];
    scratch_[j] = 0.0;
    is_touched_[j] = 0;
    if (moves == 0.0) continue;
    touched_[n++] = j;
    line_.push_back({-rate * moves, pull_[j], l1_[j] / alpha_});
  }
  touched_.resize(n);
  const double t = longer(unit, rate);
  for (std::size_t e = 0; e < n; ++e) {
    const std::size_t j = touched_[e];
    pull_[j] += t * line_[e].moves;
    w_[j] = shrunk(pull_[j], line_[e].by);
  }
  touched_.clear();
  line_.clear();
}

/// The length t of `change_` where D, which is concave, has nearly its maximum; the betas follow.
double PlaneAscent::longer(Unit& unit, double rate) const {
  double most = std::numeric_limits<double>::infinity(), costs = 0.0;
  for (std::size_t c = 0; c < unit.planes.size(); ++c) {
    costs += change_[c] * unit.planes[c].cost;
    if (change_[c] < 0.0) most = std::min(most, 1.0 - unit.planes[c].beta / change_[c]);
  }
  const auto rise = [&](double t) { return rise_at(line_, t, costs, rate); };
  double lo = 0.0, hi = 1.0, at_lo = rise(lo), at_hi = rise(hi);
  const double flat = kFlat * at_lo;
  if (at_hi > flat && most > hi) {
    lo = hi, at_lo = at_hi;
    hi = most, at_hi = rise(hi);
  }
  double t = at_hi >= -flat ? hi : lo;
  for (int trial = 0; trial < kTrials && at_hi < -flat && at_lo > flat; ++trial) {
    t = lo + std::clamp(at_lo / (at_lo - at_hi), 0.05, 0.95) * (hi - lo);
    const double found = rise(t);
    (found >= 0.0 ? lo : hi) = t;
    (found >= 0.0 ? at_lo : at_hi) = found;
    if (std::abs(found) > flat) t = lo;  // which is no descent, if the trials end here
  }
  unit.longer = std::clamp(unit.longer * std::clamp(t, 0.5, 2.0), 1.0, kLongest);
  for (std::size_t c = 0; c < unit.planes.size(); ++c) {
    unit.planes[c].beta = std::max(unit.planes[c].beta + (t - 1.0) * change_[c], 0.0);
  }
  return t;
}

}  // namespace minimand
