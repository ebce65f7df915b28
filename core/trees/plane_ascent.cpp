#include "trees/plane_ascent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "common/lanes.hpp"
#include "common/watch.hpp"
#include "scalar/functions.hpp"

namespace minimand {
namespace {

constexpr std::size_t kSteps = 8;     // steps between planes, per plane of a visit; safeguard
constexpr double kTight = 0.1;        // of the slack that a visit found, what it leaves; safeguard
constexpr std::size_t kRounds = 4;    // of them one visits all units; measured on OCR letters
constexpr double kWorthwhile = 0.5;   // of the mean slack: others wait; measured on OCR letters
constexpr double kSmallest = 1e-300;  // squared distances below it are zero; safeguard

/// A generator of Marsaglia; random enough for the order of visits.
struct Shuffler {
  std::uint64_t state;
  std::uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
};

}  // namespace

PlaneAscent::PlaneAscent(FeatureRows nodes, FeatureRows edges, std::size_t n_nodes,
                         std::size_t n_edges, std::size_t k, std::vector<double> mass, double alpha,
                         std::vector<double> present, std::vector<double> l1)
    : nodes_(nodes),
      edges_(edges),
      n_nodes_(n_nodes),
      n_edges_(n_edges),
      k_(k),
      edge_part_(k * nodes.columns),
      mass_(std::move(mass)),
      present_(std::move(present)),
      alpha_(alpha),
      l1_(std::move(l1)),
      units_(mass_.size()),
      w_(edge_part_ + k * k * edges.columns, 0.0),
      slope_(w_.size(), 0.0),
      scratch_(w_.size(), 0.0),
      pull_(l1_.empty() ? 0 : w_.size(), 0.0),
      is_touched_(l1_.empty() ? 0 : w_.size(), 0) {
  for (Unit& unit : units_) {
    unit.planes.push_back({0.0, 1.0, 0, {}, {}});
    unit.gram.assign(1, 0.0);
  }
}

void PlaneAscent::centre(double alpha, std::span<const double> base) {
  alpha_ = alpha;
  base_.assign(base.begin(), base.end());
}

std::size_t PlaneAscent::planes() const {
  std::size_t count = 0;
  for (const Unit& unit : units_) count += unit.planes.size();
  return count;
}

const double* PlaneAscent::block(const Atom& atom, const double* w) const {
  const auto label = static_cast<std::size_t>(atom.label);
  if (static_cast<std::size_t>(atom.row) < n_nodes_) return w + label * nodes_.columns;
  return w + edge_part_ + label * edges_.columns;
}

double PlaneAscent::dot(const Atom& atom, const double* w) const {
  const auto row = static_cast<std::size_t>(atom.row);
  const double* const own = block(atom, w);
  return row < n_nodes_ ? nodes_.dot(row, own) : edges_.dot(row - n_nodes_, own);
}

void PlaneAscent::add(const Atom& atom, double factor, std::vector<double>& w) const {
  const auto row = static_cast<std::size_t>(atom.row);
  double* const own = w.data() + (block(atom, w.data()) - w.data());
  if (row < n_nodes_) {
    const double* const mask = present_.empty() ? nullptr : present_.data() + (own - w.data());
    nodes_.add(row, factor, mask, own);
  } else {
    edges_.add(row - n_nodes_, factor, nullptr, own);
  }
}

std::uint32_t PlaneAscent::atom_of(Unit& unit, const Entry& entry) const {
  const auto [known, is_new] = unit.places.try_emplace(key(entry.row, entry.label), 0u);
  if (!is_new) return known->second;
  const Atom fresh{entry.row, entry.label, 0};
  if (unit.unused.empty()) {
    known->second = static_cast<std::uint32_t>(unit.atoms.size());
    unit.atoms.push_back(fresh);
  } else {
    known->second = unit.unused.back();
    unit.unused.pop_back();
    unit.atoms[known->second] = fresh;
  }
  return known->second;
}

void PlaneAscent::add(std::size_t number, double cost, std::span<const Entry> entries) {
  Unit& unit = units_[number];
  Plane plane{cost, 0.0, 0, {}, {}};
  std::vector<std::pair<std::uint32_t, double>> parts;
  for (const Entry& entry : entries) parts.emplace_back(atom_of(unit, entry), entry.value);
  std::sort(parts.begin(), parts.end());
  for (const auto& [a, value] : parts) {  // edges without features share one row
    if (plane.atoms.empty() || plane.atoms.back() != a) {
      ++unit.atoms[a].uses;
      plane.atoms.push_back(a);
      plane.values.push_back(0.0);
    }
    plane.values.back() += value;
  }
  // The new row of the Gram matrix: the plane as a vector of weights, times all planes.
  for (std::size_t e = 0; e < plane.atoms.size(); ++e) {
    add(unit.atoms[plane.atoms[e]], plane.values[e], scratch_);
  }
  unit.planes.push_back(std::move(plane));
  const std::size_t m = unit.planes.size();
  std::vector<double> gram(m * m), products(unit.atoms.size());
  for (std::size_t a = 0; a < unit.atoms.size(); ++a) {
    products[a] = unit.atoms[a].uses > 0 ? dot(unit.atoms[a], scratch_.data()) : 0.0;
  }
  for (std::size_t c = 0; c < m; ++c) {
    for (std::size_t d = 0; c + 1 < m && d + 1 < m; ++d) {
      gram[c * m + d] = unit.gram[c * (m - 1) + d];
    }
    const Plane& other = unit.planes[c];
    double sum = 0.0;
    for (std::size_t e = 0; e < other.atoms.size(); ++e) {
      sum += other.values[e] * products[other.atoms[e]];
    }
    gram[c * m + m - 1] = gram[(m - 1) * m + c] = sum;
  }
  unit.gram = std::move(gram);
  const Plane& own = unit.planes.back();
  for (const std::uint32_t a : own.atoms) {
    each_place(unit.atoms[a], [&](std::size_t j) { scratch_[j] = 0.0; });
  }
}

void PlaneAscent::read(const Unit& unit, const double* w, std::vector<double>& atoms,
                       std::vector<double>& heights) const {
  atoms.resize(unit.atoms.size());
  for (std::size_t a = 0; a < unit.atoms.size(); ++a) {
    atoms[a] = unit.atoms[a].uses > 0 ? dot(unit.atoms[a], w) : 0.0;
  }
  heights.resize(unit.planes.size());
  for (std::size_t c = 0; c < unit.planes.size(); ++c) {
    const Plane& plane = unit.planes[c];
    double height = plane.cost;
    for (std::size_t e = 0; e < plane.atoms.size(); ++e) {
      height += plane.values[e] * atoms[plane.atoms[e]];
    }
    heights[c] = height;
  }
}

/// Maximises over the planes of one unit; returns what its linear terms could gain before.
double PlaneAscent::visit(std::size_t number) {
  Unit& unit = units_[number];
  const std::size_t m = unit.planes.size();
  if (m == 1) return 0.0;
  read(unit, w_.data(), atoms_, heights_);
  double* const h = heights_.data();
  double top = h[0], held = 0.0, low = std::numeric_limits<double>::infinity();
  for (std::size_t c = 0; c < m; ++c) {
    Plane& plane = unit.planes[c];
    top = std::max(top, h[c]);
    held += plane.beta * h[c];
    if (plane.beta > 0.0) low = std::min(low, h[c]);
    plane.idle = plane.beta > 0.0 ? 0 : plane.idle + 1;
  }
  const double slack = mass_[number] * std::max(top - held, 0.0);
  const double spread = top - low;
  if (!(spread > 0.0)) return slack;
  const double rate = mass_[number] / alpha_;
  const double curved = rate / unit.longer;
  change_.assign(m, 0.0);
  bool moved = false;
  for (std::size_t step = 0; step < kSteps * m; ++step) {
    std::size_t up = 0, down = m;
    for (std::size_t c = 0; c < m; ++c) {
      if (h[c] > h[up]) up = c;
      if (unit.planes[c].beta > 0.0 && (down == m || h[c] < h[down])) down = c;
    }
    const double rise = h[up] - h[down];
    if (!(rise > kTight * spread) && step > 0) break;
    if (up == down || !(rise > 0.0)) break;
    const double distance =
        unit.gram[up * m + up] + unit.gram[down * m + down] - 2.0 * unit.gram[up * m + down];
    const double most = unit.planes[down].beta;
    const double length = distance > kSmallest ? std::min(rise / (curved * distance), most) : most;
    unit.planes[up].beta += length;
    unit.planes[down].beta = length == most ? 0.0 : most - length;
    change_[up] += length;
    change_[down] -= length;
    moved = true;
    for (std::size_t c = 0; c < m; ++c) {
      h[c] -= curved * length * (unit.gram[up * m + c] - unit.gram[down * m + c]);
    }
  }
  if (!moved) return slack;
  pull_.empty() ? move(unit, rate) : move_shrunk(unit, rate);
  return slack;
}

PlaneAscent::Outcome PlaneAscent::run(std::size_t passes, double enough, std::uint64_t seed) {
  const std::size_t n = units_.size();
  std::vector<std::uint32_t> order(n);
  std::vector<double> slacks(n, 0.0);
  Shuffler shuffler{seed * 2654435769u + 88172645463325252u};
  Outcome outcome{0.0, 0};
  double visits = 0.0;
  for (std::size_t round = 0; visits < static_cast<double>(passes * n); ++round) {
    const bool all = round % kRounds == 0;
    const double least = all ? -1.0 : kWorthwhile * outcome.slack / static_cast<double>(n);
    order.clear();
    for (std::uint32_t i = 0; i < n; ++i) {
      if (slacks[i] > least) order.push_back(i);
    }
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[shuffler.next() % i]);
    }
    double slack = 0.0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      slack += slacks[order[i]] = visit(order[i]);
      if (i % 256 == 0 && stopping()) return outcome;
    }
    visits += static_cast<double>(std::max<std::size_t>(order.size(), 1));
    outcome.passes = static_cast<std::size_t>(visits / static_cast<double>(n));
    if (!all) continue;
    outcome.slack = slack;
    if (slack <= enough) break;
  }
  return outcome;
}

double PlaneAscent::refresh() {
  std::fill(slope_.begin(), slope_.end(), 0.0);
  double gain = 0.0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    Unit& unit = units_[i];
    double total = 0.0;
    for (const Plane& plane : unit.planes) total += plane.beta;
    atoms_.assign(unit.atoms.size(), 0.0);
    for (Plane& plane : unit.planes) {
      plane.beta /= total;  // steps keep the sum up to rounding
      gain += mass_[i] * plane.beta * plane.cost;
      for (std::size_t e = 0; e < plane.atoms.size(); ++e) {
        atoms_[plane.atoms[e]] += plane.beta * plane.values[e];
      }
    }
    for (std::size_t a = 0; a < unit.atoms.size(); ++a) {
      if (atoms_[a] != 0.0) add(unit.atoms[a], mass_[i] * atoms_[a], slope_);
    }
  }
  for (std::size_t j = 0; j < w_.size(); ++j) {
    const double pull = ((base_.empty() ? 0.0 : base_[j]) - slope_[j]) / alpha_;
    if (!pull_.empty()) pull_[j] = pull;
    w_[j] = pull_.empty() ? pull : shrunk(pull, l1_[j] / alpha_);
  }
  return gain - 0.5 * alpha_ * inner_product(w_, w_);
}

void PlaneAscent::measure(std::span<const double> v, std::span<double> held,
                          std::span<double> best) const {
  std::vector<double> atoms, heights;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const Unit& unit = units_[i];
    read(unit, v.data(), atoms, heights);
    held[i] = 0.0;
    best[i] = heights[0];
    for (std::size_t c = 0; c < heights.size(); ++c) {
      held[i] += unit.planes[c].beta * heights[c];
      best[i] = std::max(best[i], heights[c]);
    }
  }
}

void PlaneAscent::list(std::span<double> rows, std::span<double> costs, std::span<double> betas,
                       std::span<double> units) const {
  std::vector<double> vector(w_.size());
  std::size_t number = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    for (const Plane& plane : units_[i].planes) {
      costs[number] = plane.cost;
      betas[number] = plane.beta;
      units[number] = static_cast<double>(i);
      if (!rows.empty()) {
        std::fill(vector.begin(), vector.end(), 0.0);
        for (std::size_t e = 0; e < plane.atoms.size(); ++e) {
          add(units_[i].atoms[plane.atoms[e]], plane.values[e], vector);
        }
        std::copy(vector.begin(), vector.end(),
                  rows.begin() + static_cast<std::ptrdiff_t>(number * w_.size()));
      }
      ++number;
    }
  }
}

void PlaneAscent::place(std::span<const double> betas) {
  std::size_t number = 0;
  for (Unit& unit : units_) {
    for (Plane& plane : unit.planes) plane.beta = betas[number++];
  }
}

void PlaneAscent::forget(std::size_t age) {
  for (Unit& unit : units_) {
    const std::size_t m = unit.planes.size();
    std::vector<std::size_t> kept;
    for (std::size_t c = 0; c < m; ++c) {
      const Plane& plane = unit.planes[c];
      if (c == 0 || plane.beta > 0.0 || plane.idle < age) kept.push_back(c);
    }
    if (kept.size() == m) continue;
    std::vector<double> gram(kept.size() * kept.size());
    for (std::size_t c = 0; c < kept.size(); ++c) {
      for (std::size_t d = 0; d < kept.size(); ++d) {
        gram[c * kept.size() + d] = unit.gram[kept[c] * m + kept[d]];
      }
    }
    std::vector<std::uint8_t> stays(m, 0);
    for (const std::size_t c : kept) stays[c] = 1;
    for (std::size_t c = 0; c < m; ++c) {
      if (stays[c]) continue;
      for (const std::uint32_t a : unit.planes[c].atoms) {
        Atom& atom = unit.atoms[a];
        if (--atom.uses > 0) continue;
        unit.places.erase(key(atom.row, atom.label));
        unit.unused.push_back(a);
      }
    }
    std::vector<Plane> planes;
    planes.reserve(kept.size());
    for (const std::size_t c : kept) planes.push_back(std::move(unit.planes[c]));
    unit.planes = std::move(planes);
    unit.gram = std::move(gram);
  }
}

}  // namespace minimand
