#include <algorithm>
#include <functional>

#include "common/watch.hpp"
#include "trees/plane_ascent.hpp"

// Conjugate gradients over the planes with beta > 0 of all units at once, and a projected step
// along what they found. Visits unit by unit find out which planes matter, but then converge
// slowly: they know nothing of the curvature between units.
namespace minimand {
namespace {

constexpr double kShortest = 1e-3;  // of the whole step: below it no step is taken; safeguard
constexpr double kReduced = 1e-2;  // of the squared slope, where conjugate gradients end; safeguard

/// The nearest point of the simplex to m numbers, in place; `sorted` is scratch.
void project(double* values, std::size_t m, std::vector<double>& sorted) {
  sorted.assign(values, values + m);
  std::sort(sorted.begin(), sorted.end(), std::greater<double>());
  double sum = 0.0, shift = 0.0;
  for (std::size_t c = 0; c < m; ++c) {
    sum += sorted[c];
    const double level = (sum - 1.0) / static_cast<double>(c + 1);
    if (sorted[c] - level <= 0.0) break;
    shift = level;
  }
  for (std::size_t c = 0; c < m; ++c) values[c] = std::max(values[c] - shift, 0.0);
}

}  // namespace

/// The planes with beta > 0 of the units that have several, one after the other.
struct PlaneAscent::Face {
  std::vector<std::size_t> units, starts;
  std::vector<std::uint32_t> planes;
  std::vector<double> scale;  // of units: the size of the curvature of their own planes

  explicit Face(const PlaneAscent& ascent) : starts(1, 0) {
    for (std::size_t i = 0; i < ascent.units_.size(); ++i) {
      const Unit& unit = ascent.units_[i];
      const std::size_t before = planes.size(), m = unit.planes.size();
      double trace = 0.0;
      for (std::uint32_t c = 0; c < m; ++c) {
        if (unit.planes[c].beta > 0.0) {
          planes.push_back(c);
          trace += unit.gram[c * m + c];
        }
      }
      if (planes.size() < before + 2 || !(trace > 0.0) || !(ascent.mass_[i] > 0.0)) {
        planes.resize(before);
        continue;
      }
      units.push_back(i);
      starts.push_back(planes.size());
      const double mean = trace / static_cast<double>(planes.size() - before);
      scale.push_back(ascent.mass_[i] * ascent.mass_[i] * mean / ascent.alpha_);
    }
  }
};

/// What a change of the betas does to the weights.
void PlaneAscent::spread(const Face& face, const std::vector<double>& change,
                         std::vector<double>& weights) {
  std::fill(weights.begin(), weights.end(), 0.0);
  for (std::size_t u = 0; u < face.units.size(); ++u) {
    const Unit& unit = units_[face.units[u]];
    atoms_.assign(unit.atoms.size(), 0.0);
    for (std::size_t at = face.starts[u]; at < face.starts[u + 1]; ++at) {
      const Plane& plane = unit.planes[face.planes[at]];
      for (std::size_t e = 0; e < plane.atoms.size(); ++e) {
        atoms_[plane.atoms[e]] += change[at] * plane.values[e];
      }
    }
    const double rate = -mass_[face.units[u]] / alpha_;
    for (std::size_t a = 0; a < unit.atoms.size(); ++a) {
      if (atoms_[a] != 0.0) add(unit.atoms[a], rate * atoms_[a], weights);
    }
  }
}

/// mass times (cost + w·a) of the planes of a face, without the cost if `w` is a change.
void PlaneAscent::gather(const Face& face, const std::vector<double>& w, bool with_cost,
                         std::vector<double>& slopes) {
  for (std::size_t u = 0; u < face.units.size(); ++u) {
    const Unit& unit = units_[face.units[u]];
    read(unit, w.data(), atoms_, heights_);
    for (std::size_t at = face.starts[u]; at < face.starts[u + 1]; ++at) {
      const std::uint32_t c = face.planes[at];
      const double cost = with_cost ? 0.0 : unit.planes[c].cost;
      slopes[at] = mass_[face.units[u]] * (heights_[c] - cost);
    }
  }
}

/// Slopes within the simplices, divided by the scale of their units.
static void within(const std::vector<std::size_t>& starts, const std::vector<double>& scale,
                   const std::vector<double>& slopes, std::vector<double>& result) {
  for (std::size_t u = 0; u + 1 < starts.size(); ++u) {
    double mean = 0.0;
    for (std::size_t at = starts[u]; at < starts[u + 1]; ++at) mean += slopes[at];
    mean /= static_cast<double>(starts[u + 1] - starts[u]);
    for (std::size_t at = starts[u]; at < starts[u + 1]; ++at) {
      result[at] = (slopes[at] - mean) / scale[u];
    }
  }
}

static double product(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] * y[j];
  return sum;
}

std::size_t PlaneAscent::climb(std::size_t most) {
  const Face face(*this);
  const std::size_t size = face.planes.size();
  if (size == 0) return 0;
  std::vector<double> slope(size), inside(size), direction(size, 0.0), total(size, 0.0),
      image(size), moved(w_.size());
  gather(face, w_, true, slope);
  within(face.starts, face.scale, slope, inside);
  double square = product(slope, inside);
  const double first = square;
  std::size_t iterations = 0;
  for (; iterations < most && square > kReduced * kReduced * first && square > 0.0; ++iterations) {
    if (stopping()) break;
    if (iterations == 0) direction = inside;
    spread(face, direction, moved);
    const double curvature = alpha_ * product(moved, moved);
    if (!(curvature > 0.0)) break;
    const double step = product(slope, direction) / curvature;
    gather(face, moved, false, image);
    for (std::size_t at = 0; at < size; ++at) {
      total[at] += step * direction[at];
      slope[at] += step * image[at];
    }
    within(face.starts, face.scale, slope, inside);
    const double next = product(slope, inside);
    const double share = next / square;
    square = next;
    for (std::size_t at = 0; at < size; ++at) {
      direction[at] = inside[at] + share * direction[at];
    }
  }
  step_along(face, total);
  return iterations;
}

/// Moves the betas by the longest projected part of `total` that raises the dual objective.
void PlaneAscent::step_along(const Face& face, const std::vector<double>& total) {
  std::vector<double> change(total.size()), moved(w_.size()), values, sorted;
  for (double part = 1.0; part > kShortest; part *= 0.5) {
    double gain = 0.0;
    for (std::size_t u = 0; u < face.units.size(); ++u) {
      const Unit& unit = units_[face.units[u]];
      const std::size_t from = face.starts[u], m = face.starts[u + 1] - from;
      values.resize(m);
      for (std::size_t c = 0; c < m; ++c) {
        values[c] = unit.planes[face.planes[from + c]].beta + part * total[from + c];
      }
      project(values.data(), m, sorted);
      for (std::size_t c = 0; c < m; ++c) {
        const Plane& plane = unit.planes[face.planes[from + c]];
        change[from + c] = values[c] - plane.beta;
        gain += mass_[face.units[u]] * change[from + c] * plane.cost;
      }
    }
    spread(face, change, moved);
    const double rise = gain - alpha_ * (product(w_, moved) + 0.5 * product(moved, moved));
    if (!(rise > 0.0)) continue;
    for (std::size_t u = 0; u < face.units.size(); ++u) {
      Unit& unit = units_[face.units[u]];
      for (std::size_t at = face.starts[u]; at < face.starts[u + 1]; ++at) {
        Plane& plane = unit.planes[face.planes[at]];
        plane.beta = std::max(plane.beta + change[at], 0.0);
      }
    }
    for (std::size_t j = 0; j < w_.size(); ++j) w_[j] += moved[j];
    return;
  }
}

}  // namespace minimand
