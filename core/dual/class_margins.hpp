#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "common/lanes.hpp"
#include "common/targets.hpp"

// The multipliers of one row whose loss is an ordered sum of class margins,
//   sum_j weights_j max(0, t_[j]),   t_c = cost_c + z_c - z_y for the classes c != y,
// t_[1] >= t_[2] >= ..., with weights that do not increase. They are u_c = p_c, u_y = -sum_c p_c,
// for p >= 0 whose m largest entries add up to at most weights_1 + ... + weights_m, for every m.
namespace minimand {

/// The weights, and the simpler form that they may have.
struct OrderedWeights {
  std::span<const double> values;  // one for every class but that of the row
  bool single;                     // only the first is not zero: p lies in a simplex

  explicit OrderedWeights(std::span<const double> weights) : values(weights), single(true) {
    for (std::size_t j = 1; j < weights.size(); ++j) single = single && weights[j] == 0.0;
  }
  MINIMAND_INLINE double at(std::size_t j) const {
    return j < values.size() ? values.data()[j] : 0.0;
  }
};

/// Work space for one row.
struct MarginSpace {
  explicit MarginSpace(std::size_t k) : order(k), margins(k), level(k), count(k), cap(k) {}
  std::vector<std::uint32_t> order;  // classes in the order of their margins
  std::vector<double> margins;
  std::vector<double> level;  // of the blocks of an isotonic regression
  std::vector<std::uint32_t> count;
  std::vector<double> cap;
};

/// The level at which sum_c max(0, v_c - level) is `total` > 0. Entries that cannot be above it are
/// left out, until all that are left are above it.
MINIMAND_INLINE double simplex_level(const double* v, std::size_t k, double total) {
  Lanes high = same_lanes(-std::numeric_limits<double>::infinity());
  std::size_t c = 0;
  for (; c + kLanes <= k; c += kLanes) {
    const Lanes here = load_lanes(v + c);
    high = select(here > high, here, high);
  }
  double most = high[0];
  for (std::size_t l = 1; l < kLanes; ++l) most = high[l] > most ? high[l] : most;
  for (; c < k; ++c) most = v[c] > most ? v[c] : most;
  double level = most - total;  // the largest entry alone cannot exceed the level by more
  double counted = 0.0;
  for (std::size_t round = 0; round <= k; ++round) {
    Lanes sums = {}, counts = {};
    const Lanes floor = same_lanes(level), ones = same_lanes(1.0), base = same_lanes(most);
    for (c = 0; c + kLanes <= k; c += kLanes) {
      const Lanes here = load_lanes(v + c);
      const auto above = here > floor;
      sums += select(above, here - base, Lanes{});
      counts += select(above, ones, Lanes{});
    }
    double sum = sum_lanes(sums), count = sum_lanes(counts);
    for (; c < k; ++c) {
      if (v[c] > level) sum += v[c] - most, count += 1.0;
    }
    if (!(count > 0.0)) return most - total;  // differences below rounding, or NaN
    level = most + (sum - total) / count;
    if (count == counted) break;
    counted = count;
  }
  return level;
}

/// The classes other than y, by decreasing numbers a_c.
inline void sort_classes(const double* a, std::size_t k, std::size_t y, MarginSpace& space) {
  std::size_t size = 0;
  for (std::size_t c = 0; c < k; ++c) {
    if (c != y) space.order[size++] = static_cast<std::uint32_t>(c);
  }
  std::sort(
      space.order.begin(), space.order.begin() + static_cast<std::ptrdiff_t>(size),
      [a](std::uint32_t b, std::uint32_t c) { return a[b] > a[c] || (a[b] == a[c] && b < c); });
}

/// cap_c = a_c - m_c, m the non-increasing regression of the sorted a minus the weights. For every
/// shift s, clip(a - s, 0, cap) is the nearest point to a - s in the set of p.
inline void find_caps(const double* a, std::size_t k, std::size_t y, const OrderedWeights& weights,
                      MarginSpace& space) {
  sort_classes(a, k, y, space);
  std::size_t blocks = 0;
  for (std::size_t j = 0; j + 1 < k; ++j) {
    double level = a[space.order[j]] - weights.at(j);
    std::uint32_t count = 1;
    while (blocks > 0 && space.level[blocks - 1] < level) {
      --blocks;
      const double other = space.count[blocks], both = other + count;
      level = (other * space.level[blocks] + count * level) / both;
      count += space.count[blocks];
    }
    space.level[blocks] = level;
    space.count[blocks++] = count;
  }
  for (std::size_t j = 0, block = 0, used = 0; j + 1 < k; ++j) {
    const std::uint32_t c = space.order[j];
    space.cap[c] = std::max(a[c] - space.level[block], 0.0);
    if (++used == space.count[block]) ++block, used = 0;
  }
}

/// The root of sum_c clip(a_c - s, 0, cap_c) + a_y - s, which falls in s: Newton's method, exact
/// once it has found the piece of the root, inside a bracket.
inline double margin_shift(const double* a, std::size_t k, std::size_t y,
                           const MarginSpace& space) {
  double most = 0.0;
  for (std::size_t c = 0; c < k; ++c) {
    if (c != y) most += space.cap[c];
  }
  double low = a[y], high = a[y] + most, shift = low;
  for (int round = 0; round < 200; ++round) {  // safeguard: bisection alone needs about 60
    double rest = a[y] - shift, slope = 1.0;
    for (std::size_t c = 0; c < k; ++c) {
      if (c == y) continue;
      const double over = a[c] - shift;
      if (over <= 0.0) continue;
      if (over < space.cap[c]) slope += 1.0;
      rest += std::min(over, space.cap[c]);
    }
    (rest > 0.0 ? low : high) = shift;
    double next = shift + rest / slope;
    if (std::abs(next - shift) <= 4e-16 * std::abs(shift)) break;  // rounding; safeguard
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (next == low || next == high) break;
    shift = next;
  }
  return shift;
}

/// The multipliers nearest to a.
MINIMAND_INLINE void project_margins(const double* a, std::size_t k, std::size_t y,
                                     const OrderedWeights& weights, MarginSpace& space,
                                     double* result) {
  const double first = weights.at(0);
  double total = 0.0;
  if (!(first > 0.0)) {
    for (std::size_t c = 0; c < k; ++c) result[c] = 0.0;
    return;
  }
  if (weights.single) {  // with p_y = first - sum_c p_c, a simplex of all classes
    double* const v = space.margins.data();
    for (std::size_t c = 0; c < k; ++c) v[c] = a[c];
    v[y] += first;
    const double level = simplex_level(v, k, first);
    for (std::size_t c = 0; c < k; ++c) result[c] = v[c] > level ? v[c] - level : 0.0;
    result[y] = 0.0;
    for (std::size_t c = 0; c < k; ++c) total += result[c];
    if (total > first) {  // by rounding
      for (std::size_t c = 0; c < k; ++c) result[c] *= first / total;
      total = first;
    }
  } else {
    find_caps(a, k, y, weights, space);
    const double shift = margin_shift(a, k, y, space);
    for (std::size_t c = 0; c < k; ++c) {
      result[c] = c == y ? 0.0 : std::clamp(a[c] - shift, 0.0, space.cap[c]);
      total += result[c];
    }
  }
  result[y] = -total;
}

/// A row's term of the gap, and how far its margins may move before its multipliers do.
struct MarginTerm {
  double young;
  double room;
};

/// loss(t) - sum_c p_c t_c, and the least difference of margins at which the loss has a kink.
MINIMAND_INLINE MarginTerm margin_term(const double* t, const double* u, std::size_t k,
                                       std::size_t y, const OrderedWeights& weights,
                                       MarginSpace& space) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (weights.single) {
    double first = -kInfinity, second = -kInfinity, linear = 0.0;
    for (std::size_t c = 0; c < k; ++c) {
      if (c == y) continue;
      linear += u[c] * t[c];
      if (t[c] > first) {
        second = first, first = t[c];
      } else if (t[c] > second) {
        second = t[c];
      }
    }
    const double value = weights.at(0) * std::max(first, 0.0);
    const double room = first > 0.0 ? first - std::max(second, 0.0) : -first;
    return {std::max(value - linear, 0.0), room};
  }
  sort_classes(t, k, y, space);
  MarginTerm term{0.0, kInfinity};
  double used = 0.0, allowed = 0.0;
  for (std::size_t j = 0; j + 1 < k; ++j) {
    const std::size_t c = space.order[j];
    used += u[c];
    allowed += weights.at(j);
    const double here = std::max(t[c], 0.0);
    const double next = j + 2 < k ? std::max(t[space.order[j + 1]], 0.0) : 0.0;
    term.young += std::max(allowed - used, 0.0) * (here - next) + u[c] * std::max(-t[c], 0.0);
    const double weight = weights.at(j);
    if (!(weight > 0.0)) continue;
    const bool kink = weight > weights.at(j + 1) || next == 0.0;
    if (here > 0.0 && kink) term.room = std::min(term.room, here - next);
    if (here == 0.0) term.room = std::min(term.room, -t[c]);
  }
  return term;
}

}  // namespace minimand
