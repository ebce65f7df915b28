#pragma once

#include <limits>

#include "common/lanes.hpp"
#include "scalar/pieces.hpp"
#include "scalar/softplus.hpp"

// The steps of dual variables of several problems at once, one problem a lane. They are those of
// Pieces::dual_step and Softplus::dual_step, without branches that would differ between lanes.
namespace minimand {

/// See DualStep; one number a lane.
struct LaneSteps {
  Lanes at;
  Lanes slope;
  Lanes young;
};

/// A place and a slope, one pair a lane.
struct LaneSlopes {
  Lanes at;
  Lanes slope;
};

MINIMAND_INLINE Lanes at_least(Lanes x, Lanes least) { return select(x < least, least, x); }
MINIMAND_INLINE Lanes at_most(Lanes x, Lanes most) { return select(x > most, most, x); }
MINIMAND_INLINE Lanes size_of(Lanes x) { return lanes_of(bits_of(x) & ~(std::uint64_t{1} << 63)); }

/// Whether a comparison holds in every lane.
template <class Mask>
MINIMAND_INLINE bool holds_everywhere(Mask mask) {
  bool all = true;
  for (std::size_t k = 0; k < kLanes; ++k) all = all && mask[k] != 0;
  return all;
}

// Piecewise quadratic functions ------------------------------------------------------------------

/// Where a proximal step ends if piece k went on for ever.
MINIMAND_INLINE LaneSlopes on_piece(const Pieces& psi, std::size_t k, Lanes aim, Lanes step) {
  const double from = psi.knots.data()[psi.anchor(k)];
  const double slope = psi.slopes.data()[k], bend = psi.curvatures.data()[k];
  const Lanes straight = aim - from - step * slope;
  if (bend == 0.0) return {from + straight, same_lanes(slope)};
  const Lanes moved = straight / (1.0 + step * bend);
  return {from + moved, slope + bend * moved};
}

/// The root s of s + step psi'(s) = aim, and the slope of psi there.
MINIMAND_INLINE LaneSlopes slopes_after(const Pieces& psi, Lanes aim, Lanes step) {
  LaneSlopes found = on_piece(psi, 0, aim, step);
  for (std::size_t k = 0; k < psi.count(); ++k) {
    const double knot = psi.knots.data()[k];
    const double below = psi.left.data()[k], above = psi.slopes.data()[k + 1];
    const auto reaches = aim >= knot + step * below, passes = aim > knot + step * above;
    const Lanes held = at_most(at_least((aim - knot) / step, same_lanes(below)), same_lanes(above));
    const LaneSlopes beyond = on_piece(psi, k + 1, aim, step);
    found.at = select(passes, beyond.at, select(reaches, same_lanes(knot), found.at));
    found.slope = select(passes, beyond.slope, select(reaches, held, found.slope));
  }
  return found;
}

MINIMAND_INLINE Lanes lane_values(const Pieces& psi, Lanes t) {
  Lanes value = {};
  for (std::size_t k = 0; k <= psi.count(); ++k) {
    const std::size_t a = psi.anchor(k);
    const Lanes step = t - psi.knots.data()[a];
    const Lanes here = psi.values.data()[a] +
                       step * (psi.slopes.data()[k] + 0.5 * psi.curvatures.data()[k] * step);
    value = k == 0 ? here : select(step >= 0.0, here, value);
  }
  return value;
}

/// Where psi has the slope v, which is one of its slopes.
MINIMAND_INLINE Lanes lane_places(const Pieces& psi, Lanes v) {
  const double first = psi.curvatures.data()[0];
  Lanes place = same_lanes(psi.knots.data()[0]);
  if (first > 0.0) place += (v - psi.slopes.data()[0]) / first;
  for (std::size_t k = 0; k < psi.count(); ++k) {
    const double knot = psi.knots.data()[k], above = psi.slopes.data()[k + 1];
    const double bend = psi.curvatures.data()[k + 1];
    place = select(v >= psi.left.data()[k], same_lanes(knot), place);
    if (bend > 0.0) place = select(v > above, knot + (v - above) / bend, place);
  }
  return place;
}

/// psi(t) + psi*(v) - v t as a difference of values: good enough for an estimate of the gap.
MINIMAND_INLINE Lanes young_estimates(const Pieces& psi, Lanes t, Lanes v) {
  const Lanes place = lane_places(psi, v), zero = {};
  return at_least(lane_values(psi, t) - lane_values(psi, place) - v * (t - place), zero);
}

MINIMAND_INLINE LaneSteps dual_steps(const Pieces& psi, Lanes t, Lanes v, Lanes step) {
  const LaneSlopes found = slopes_after(psi, t + step * v, step);
  const Lanes zero = {};
  return {found.at, found.slope, select(found.slope == v, zero, young_estimates(psi, t, v))};
}

/// The distances of t from the ends of the linear pieces they lie in; 0 on curved ones.
MINIMAND_INLINE Lanes rooms(const Pieces& psi, Lanes t) {
  const Lanes endless = same_lanes(std::numeric_limits<double>::infinity()), zero = {};
  Lanes room = endless;
  for (std::size_t k = 0; k <= psi.count(); ++k) {
    Lanes here = endless;
    if (k > 0) here = t - psi.knots.data()[k - 1];
    const auto inside = here >= zero;  // t is on the right of the knot
    if (k < psi.count()) here = at_most(here, psi.knots.data()[k] - t);
    if (psi.curvatures.data()[k] > 0.0) here = zero;
    room = select(inside, here, room);
  }
  return room;
}

// log(1 + e^-t) ----------------------------------------------------------------------------------

/// Nowhere is there room: psi is curved everywhere.
MINIMAND_INLINE Lanes rooms(const Softplus&, Lanes) { return Lanes{}; }

MINIMAND_INLINE Lanes moved_slopes(const Softplus::LaneDerivatives& from, Lanes move) {
  return from.slope + move * (from.bend + 0.5 * move * from.twist);
}

/// Newton's steps from where psi' is v, for lanes with a long step; t elsewhere.
MINIMAND_INLINE Lanes first_places(Lanes t, Lanes v, Lanes step) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto stiff = (step > Softplus::kStiff) & (v < 0.0) & (v > -1.0);
  const Lanes odds = select(stiff, (1.0 + v) / -v, same_lanes(1.0));
  const auto finite = (odds > 0.0) & (odds < kInfinity);
  const Lanes at = select(finite, logarithm(select(finite, odds, same_lanes(1.0))), t);
  return select(stiff, at + (t - at) / (1.0 - step * v * (1.0 + v)), t);
}

/// Steps that are not short, by Halley's method within brackets, until every lane has settled.
MINIMAND_INLINE LaneSlopes far_steps(Lanes t, Lanes v, Lanes step) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Lanes slope = Softplus::lane_derivatives(t).slope;
  Lanes high = select(slope > v, t, same_lanes(kInfinity));
  Lanes low = select(slope > v, same_lanes(-kInfinity), t);
  Lanes s = first_places(t, v, step);
  LaneSlopes found{t, v};  // after an overflow a variable is not changed
  auto settled = s != s;
  for (int round = 0; round < Softplus::kRounds; ++round) {
    const auto here = Softplus::lane_derivatives(s);
    const Lanes miss = (s - t) + step * (here.slope - v);
    high = select(miss > 0.0, s, high);
    low = select(miss > 0.0, low, s);
    const Lanes rate = 1.0 + step * here.bend, newton = miss / rate;
    const Lanes twist = at_most(0.5 * newton * (step * here.twist / rate), same_lanes(0.5));
    Lanes next = s - newton / (1.0 - twist);
    next = select(next > low, next, 0.5 * (s + low));
    next = select(next < high, next, 0.5 * (s + high));
    const Lanes move = next - s, moved = moved_slopes(here, move);
    const auto near = (move * move * rate <= Softplus::kNear) |
                      (size_of(move) <= 4.0 * Softplus::kEpsilon * size_of(s));
    const auto fresh = near & ~settled & (moved <= 0.0) & (moved >= -1.0);
    found.at = select(fresh, next, found.at);
    found.slope = select(fresh, moved, found.slope);
    settled = settled | near;
    if (holds_everywhere(settled)) break;
    s = next;
  }
  return found;
}

MINIMAND_INLINE LaneSteps dual_steps(const Softplus&, Lanes t, Lanes v, Lanes step) {
  const auto here = Softplus::lane_derivatives(t);
  const Lanes off = here.slope - v, bends = here.bend - v * (1.0 + v);
  const Lanes young = select(bends > 0.0, off * off / bends, size_of(off));
  const Lanes miss = step * off, rate = 1.0 + step * here.bend;
  const Lanes move = -miss * rate / (rate * rate - 0.5 * miss * step * here.twist);
  const Lanes slope = moved_slopes(here, move);
  const auto near = (miss * miss <= Softplus::kNear * rate) & (slope <= 0.0) & (slope >= -1.0);
  if (holds_everywhere(near)) return {t + move, slope, young};
  const LaneSlopes far = far_steps(t, v, step);
  return {select(near, t + move, far.at), select(near, slope, far.slope), young};
}

}  // namespace minimand
