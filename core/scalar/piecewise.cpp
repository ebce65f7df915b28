#include "scalar/piecewise.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace minimand {

void piecewise_terms(const Pieces& pieces, std::span<const double> t, std::span<double> value,
                     std::span<double> slope, std::span<double> curvature) {
  for (std::size_t i = 0; i < t.size(); ++i) {
    const std::size_t k = pieces.piece_of(t[i]), a = pieces.anchor(k);
    const double step = t[i] - pieces.knots[a];
    const double bend = pieces.curvatures[k];
    value[i] = pieces.values[a] + step * (pieces.slopes[k] + 0.5 * bend * step);
    slope[i] = pieces.slopes[k] + bend * step;
    curvature[i] = bend;
  }
}

void piecewise_young(const Pieces& pieces, std::span<const double> t, std::span<const double> v,
                     std::span<double> result) {
  for (std::size_t i = 0; i < t.size(); ++i) result[i] = pieces.young(t[i], v[i]);
}

void piecewise_prox(const Pieces& pieces, std::span<const double> t, std::span<const double> step,
                    std::span<double> result) {
  for (std::size_t i = 0; i < t.size(); ++i) result[i] = pieces.prox(t[i], step[i]);
}

namespace {

/// Where the slope of the sum changes: by `jump` at once, and by `bend` per unit beyond.
struct Break {
  double at;
  double jump;
  double bend;
};

/// The slope of the sum left of all its breaks: constant + bend * b.
struct Line {
  double constant = 0.0;
  double bend = 0.0;

  double at(double b) const { return constant + (bend == 0.0 ? 0.0 : bend * b); }
  void pass(const Break& place) {
    constant += place.jump - (place.bend == 0.0 ? 0.0 : place.bend * place.at);
    bend += place.bend;
  }
};

std::vector<Break> breaks_of(const Pieces& pieces, std::span<const double> t,
                             std::span<const double> sign, std::span<const double> mass,
                             Line& first) {
  const std::size_t last = pieces.count();
  std::vector<Break> breaks;
  breaks.reserve(t.size() * last);
  for (std::size_t i = 0; i < t.size(); ++i) {
    const double m = mass[i];
    if (m == 0.0) continue;
    const bool forward = sign[i] > 0.0;
    const std::size_t outer = forward ? 0 : last;
    const double from = pieces.knots[pieces.anchor(outer)];
    const double bend = pieces.curvatures[outer];
    // d/db of psi(t + s b) on the outer piece: s (slope + bend (t - from)) + bend b.
    const double slope = pieces.slopes[outer] + (bend == 0.0 ? 0.0 : bend * (t[i] - from));
    first.constant += m * (forward ? slope : -slope);
    first.bend += m * bend;
    for (std::size_t k = 0; k < last; ++k) {
      const double jump = pieces.slopes[k + 1] - pieces.left[k];
      const double change = pieces.curvatures[k + 1] - pieces.curvatures[k];
      breaks.push_back({forward ? pieces.knots[k] - t[i] : t[i] - pieces.knots[k], m * jump,
                        m * (forward ? change : -change)});
    }
  }
  return breaks;
}

}  // namespace

Shifts piecewise_shift(const Pieces& pieces, std::span<const double> t,
                       std::span<const double> sign, std::span<const double> mass) {
  Line line;
  std::vector<Break> breaks = breaks_of(pieces, t, sign, mass, line);
  double size = 0.0;
  for (const Break& place : breaks) size += std::abs(place.jump);
  // 64: roundings, as a factor of the unit in the last place; safeguard.
  const double noise = 64.0 * std::numeric_limits<double>::epsilon() * size;
  // Selection: halve the breaks around a pivot and keep the side where the slope changes sign.
  auto begin = breaks.begin(), end = breaks.end();
  double floor = -std::numeric_limits<double>::infinity();
  const auto earlier = [](const Break& a, const Break& b) { return a.at < b.at; };
  while (end - begin > 0) {
    const auto middle = begin + (end - begin) / 2;
    std::nth_element(begin, middle, end, earlier);
    Line before = line;
    for (auto place = begin; place != middle; ++place) before.pass(*place);
    const double slope = before.at(middle->at);  // just left of the pivot
    if (slope + std::max(middle->jump, 0.0) < -noise) {
      before.pass(*middle);
      line = before;
      floor = middle->at;
      begin = middle + 1;
    } else if (slope > noise) {
      end = middle;
    } else {
      // The pivot is a minimiser: the lower end of the minimisers, the upper one, or the only one.
      double lowest = middle->at, highest = middle->at;
      if (slope >= -noise) {  // flat on the left, back to the break before or the linear root
        if (before.bend <= 0.0) {
          lowest = floor;
          for (auto place = begin; place != middle; ++place) lowest = std::max(lowest, place->at);
        }
      }
      Line after = before;
      after.pass(*middle);
      if (after.at(middle->at) <= noise && after.bend <= 0.0) {
        highest = std::numeric_limits<double>::infinity();
        for (auto place = middle + 1; place != end; ++place) highest = std::min(highest, place->at);
        for (auto place = end; place != breaks.end(); ++place) {
          highest = std::min(highest, place->at);
        }
      }
      return {lowest, highest};
    }
  }
  if (line.bend > 0.0) {
    const double root = -line.constant / line.bend;
    return {root, root};
  }
  double ceiling = std::numeric_limits<double>::infinity();
  for (auto place = end; place != breaks.end(); ++place) ceiling = std::min(ceiling, place->at);
  return {floor, ceiling};
}

}  // namespace minimand
