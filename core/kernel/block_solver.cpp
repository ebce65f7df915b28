#include "kernel/block_solver.hpp"

#include <algorithm>

namespace minimand {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Found {
  std::size_t index;
  double value;
};

/// The largest of adjacent numbers, a vector of them at a time; of equal ones the first.
class Search {
 public:
  MINIMAND_INLINE explicit Search(std::size_t begin) : begin_(begin) {
    for (std::size_t l = 0; l < kLanes; ++l) next_[l] = static_cast<double>(begin + l);
  }

  MINIMAND_INLINE void look(Lanes values) {
    const auto better = values > most_;
    most_ = select(better, values, most_);
    place_ = select(better, next_, place_);
    next_ += same_lanes(static_cast<double>(kLanes));
  }

  MINIMAND_INLINE Found best() const {
    Found found{begin_, -kInfinity};
    for (std::size_t l = 0; l < kLanes; ++l) {
      const auto place = static_cast<std::size_t>(place_[l]);
      if (!(most_[l] >= found.value) || most_[l] == -kInfinity) continue;
      if (most_[l] > found.value || place < found.index) found = {place, most_[l]};
    }
    return found;
  }

 private:
  std::size_t begin_;
  Lanes most_ = same_lanes(-kInfinity), place_ = {}, next_ = {};
};

/// The largest of some numbers, or with a sign of -1 the smallest; the first of equal ones.
MINIMAND_INLINE Found extreme(const double* values, std::size_t begin, std::size_t end,
                              double sign) {
  Search search(begin);
  std::size_t k = begin;
  for (; k + kLanes <= end; k += kLanes) search.look(sign * load_lanes(values + k));
  Found found = search.best();
  for (; k < end; ++k) {
    if (sign * values[k] > found.value) found = {k, sign * values[k]};
  }
  return {found.index, sign * found.value};
}

/// a_k += t, and exactly to its end if that is as far as it goes.
template <class Scalar>
MINIMAND_INLINE void move(Block<Scalar>& block, std::size_t k, double t) {
  const double end = t >= 0.0 ? top_of(block, k) : bottom_of(block, k);
  const bool reached = t >= 0.0 ? t >= end - block.a[k] : t <= end - block.a[k];
  block.a[k] = reached ? end : block.a[k] + t;
}

/// Of each group: the largest slope up, and the least slope down.
struct Ends {
  Found top[2];
  double bottom[2];

  MINIMAND_INLINE double violation(std::size_t group) const {
    return top[group].value - bottom[group];
  }
  MINIMAND_INLINE double worst() const { return std::max(violation(0), violation(1)); }
};

/// The slopes of positions as they are.
template <class Scalar>
MINIMAND_INLINE Ends ends_of(const Block<Scalar>& block) {
  Ends ends;
  for (std::size_t g = 0; g < 2; ++g) {
    ends.top[g] = extreme(block.up.data(), block.begin[g], block.begin[g + 1], 1.0);
    ends.bottom[g] = extreme(block.down.data(), block.begin[g], block.begin[g + 1], -1.0).value;
  }
  return ends;
}

/// f += t (row i - row j) and the slopes that follow from it, which are looked at on the way.
template <class Scalar>
MINIMAND_INLINE Ends add_pair(Block<Scalar>& block, double t, std::size_t i, std::size_t j) {
  const Scalar* __restrict first = block.row(i);
  const Scalar* __restrict second = block.row(j);
  double* __restrict f = block.f.data();
  double* __restrict up = block.up.data();
  double* __restrict down = block.down.data();
  Ends ends;
  for (std::size_t g = 0; g < 2; ++g) {
    std::size_t k = block.begin[g];
    const std::size_t end = block.begin[g + 1];
    Search search(k);
    Lanes least = same_lanes(kInfinity);
    for (; k + kLanes <= end; k += kLanes) {
      const Lanes change = t * (load_lanes(first + k) - load_lanes(second + k));
      store_lanes(f + k, load_lanes(f + k) + change);
      const Lanes rise = load_lanes(up + k) - change, fall = load_lanes(down + k) - change;
      store_lanes(up + k, rise);
      store_lanes(down + k, fall);
      search.look(rise);
      least = select(fall < least, fall, least);
    }
    ends.top[g] = search.best();
    ends.bottom[g] = kInfinity;
    for (std::size_t l = 0; l < kLanes; ++l) ends.bottom[g] = std::min(ends.bottom[g], least[l]);
    for (; k < end; ++k) {
      const double change = t * (static_cast<double>(first[k]) - static_cast<double>(second[k]));
      f[k] += change;
      up[k] -= change;
      down[k] -= change;
      if (up[k] > ends.top[g].value) ends.top[g] = {k, up[k]};
      ends.bottom[g] = std::min(ends.bottom[g], down[k]);
    }
  }
  return ends;
}

/// What the step of a pair gains, (up_i - down_k)^2 / (K_ii + K_kk - 2 K_ik); for lanes of k.
MINIMAND_INLINE Lanes gains(double up, double own, Lanes down, Lanes diagonal, Lanes row) {
  const Lanes violation = up - down;
  const Lanes larger = select(diagonal < own, same_lanes(own), diagonal);
  const Lanes bend = own + diagonal - 2.0 * row;
  const Lanes least = kFlat * larger;
  Lanes safe = select(bend > least, bend, least);
  safe = select(safe > 0.0, safe, same_lanes(1e-300));
  return select(violation > 0.0, violation * violation / safe, Lanes{});
}

/// The partner of i that gains most.
template <class Scalar>
MINIMAND_INLINE Found partner(Block<Scalar>& block, Found i, std::size_t begin, std::size_t end) {
  const Scalar* __restrict row = block.row(i.index);
  const double* __restrict down = block.down.data();
  const double* __restrict diagonal = block.diagonal.data();
  const double own = diagonal[i.index];
  Search search(begin);
  std::size_t k = begin;
  for (; k + kLanes <= end; k += kLanes) {
    const Lanes others = load_lanes(diagonal + k);
    search.look(gains(i.value, own, load_lanes(down + k), others, load_lanes(row + k)));
  }
  Found found = search.best();
  for (; k < end; ++k) {
    const Lanes one = gains(i.value, own, same_lanes(down[k]), same_lanes(diagonal[k]),
                            same_lanes(static_cast<double>(row[k])));
    if (one[0] > found.value) found = {k, one[0]};
  }
  return found;
}

/// A step of the pair that gains most in the group that violates optimality most.
template <class Scalar>
MINIMAND_INLINE void pair_step(Block<Scalar>& block, Ends& ends) {
  const std::size_t group = ends.violation(1) > ends.violation(0) ? 1 : 0;
  const Found from = ends.top[group];
  const Found to = partner(block, from, block.begin[group], block.begin[group + 1]);
  const std::size_t i = from.index, j = to.index;
  const double larger = std::max(block.diagonal[i], block.diagonal[j]);
  double bend = block.diagonal[i] + block.diagonal[j] - 2.0 * static_cast<double>(block.row(i)[j]);
  bend = std::max(bend, kFlat * larger);
  double t = std::min(top_of(block, i) - block.a[i], block.a[j] - bottom_of(block, j));
  if (bend > 0.0) t = std::min(t, (from.value - block.down[j]) / bend);
  move(block, i, t);
  move(block, j, -t);
  // Their slopes at the scores before the step: what all scores change by comes next.
  refresh(block, i);
  refresh(block, j);
  ends = add_pair(block, t, i, j);
}

/// f += t row i, and the slopes that follow from it.
template <class Scalar>
MINIMAND_INLINE void add_row(Block<Scalar>& block, double t, std::size_t i) {
  const Scalar* __restrict row = block.row(i);
  double* __restrict f = block.f.data();
  double* __restrict up = block.up.data();
  double* __restrict down = block.down.data();
  for (std::size_t k = 0; k < block.size; ++k) {
    const double change = t * static_cast<double>(row[k]);
    f[k] += change;
    up[k] -= change;
    down[k] -= change;
  }
}

/// One step of one position that moves by itself; the violation before it.
template <class Scalar>
MINIMAND_INLINE double single_step(Block<Scalar>& block, double goal) {
  double violation = 0.0, most = -1.0;
  std::size_t chosen = 0;
  bool grows = true;
  for (std::size_t k = 0; k < block.size; ++k) {
    const bool upward = block.up[k] >= -block.down[k];
    const double slope = upward ? block.up[k] : -block.down[k];
    if (!(slope > 0.0)) continue;
    violation = std::max(violation, slope);
    const double gain = slope * slope / std::max(block.diagonal[k], 1e-300);
    if (gain > most) {
      most = gain;
      chosen = k;
      grows = upward;
    }
  }
  if (!(violation > goal)) return violation;
  const double slope = grows ? block.up[chosen] : -block.down[chosen];
  double t =
      grows ? top_of(block, chosen) - block.a[chosen] : block.a[chosen] - bottom_of(block, chosen);
  if (block.diagonal[chosen] > 0.0) t = std::min(t, slope / block.diagonal[chosen]);
  if (!grows) t = -t;
  move(block, chosen, t);
  add_row(block, t, chosen);
  refresh(block, chosen);
  return violation;
}

template <class Scalar>
MINIMAND_INLINE BlockReport solve_pairs(Block<Scalar>& block, double goal, double share,
                                        std::int64_t most) {
  Ends ends = ends_of(block);
  BlockReport report{ends.worst(), 0};
  const double until = std::max(goal, share * report.violation);
  while (report.violation > until && report.steps < most) {
    pair_step(block, ends);
    ++report.steps;
    report.violation = ends.worst();
  }
  return report;
}

template <class Scalar>
MINIMAND_INLINE BlockReport solve_singles(Block<Scalar>& block, double goal, double share,
                                          std::int64_t most) {
  BlockReport report{0.0, 0};
  double until = goal;
  while (report.steps < most) {
    report.violation = single_step(block, until);
    if (report.steps == 0) until = std::max(goal, share * report.violation);
    if (!(report.violation > until)) break;
    ++report.steps;
  }
  return report;
}

}  // namespace

#define MINIMAND_KERNEL(Scalar)                                                             \
  MINIMAND_CLONES BlockReport solve_block(Block<Scalar>& block, bool balanced, double goal, \
                                          double share, std::int64_t most) {                \
    return balanced ? solve_pairs(block, goal, share, most)                                 \
                    : solve_singles(block, goal, share, most);                              \
  }
MINIMAND_KERNEL(float)
MINIMAND_KERNEL(double)

}  // namespace minimand
