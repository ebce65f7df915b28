#include "groups/minimiser.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/targets.hpp"
#include "common/watch.hpp"

namespace minimand {
namespace {

// Those without another word are safeguards.
constexpr int kInner = 40;  // steps of one group on its own matrix; measured on 1000x5000, 800x4000
// and 500x5000 in groups of 10 to 50: with 8, up to 1.45 times as many groups are swept over
constexpr double kInnerLeft = 1e-4;  // share of its squared move, at which a group has settled;
// measured there: 1e-6 makes it up to 3 % fewer, at 1.5 to 1.9 times the steps
constexpr int kSweeps = 3;         // sweeps of a round
constexpr int kFruitless = 3;      // rounds without a Newton step or a lower gap
constexpr double kRayShare = 0.1;  // share of the goal that the lengths of the groups may leave
constexpr double kRayRest = 1e-3;  // share of the gap before a round that they may leave, too
constexpr double kTrimmed = 0.9;   // share of the goal: the gap at which groups are trimmed
constexpr double kSlow = 0.8;      // share of the gap after a round, above which Newton steps help

/// image = matrix times way, for every score; the matrix is symmetric.
MINIMAND_CLONES void multiply_own(const OwnMatrix& matrix, std::size_t rows, std::size_t scores,
                                  const double* way, double* image) {
  double* const __restrict to = image;
  for (std::size_t i = 0; i < rows * scores; ++i) to[i] = 0.0;
  if (scores > 1) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < rows; ++j) {
        const double value = matrix.row(i)[j];
        for (std::size_t c = 0; c < scores; ++c) to[i * scores + c] += value * way[j * scores + c];
      }
    }
    return;
  }
  std::size_t j = 0;
  for (; j + 4 <= rows; j += 4) {
    const double *const row0 = matrix.row(j), *const row1 = matrix.row(j + 1);
    const double *const row2 = matrix.row(j + 2), *const row3 = matrix.row(j + 3);
    const double way0 = way[j], way1 = way[j + 1], way2 = way[j + 2], way3 = way[j + 3];
    for (std::size_t i = 0; i < rows; ++i) {
      to[i] += (way0 * row0[i] + way1 * row1[i]) + (way2 * row2[i] + way3 * row3[i]);
    }
  }
  for (; j < rows; ++j) {
    const double* const row = matrix.row(j);
    for (std::size_t i = 0; i < rows; ++i) to[i] += way[j] * row[i];
  }
}

}  // namespace

bool GroupMinimiser::minimise(GroupQuadratic& loss, const GroupPenalties& penalties,
                              std::span<double> w, GroupGoal goal) {
  describe(penalties, w);
  int fruitless = 0;
  double best = std::numeric_limits<double>::infinity(), last = best;
  bool rays = false;
  for (std::size_t round = 0;; ++round) {
    double gap = shortfall(loss, penalties, w);
    if (gap <= goal.gap) return true;
    if (round == goal.rounds || stopping() || std::isnan(gap)) return false;
    fruitless = gap < 0.9 * best ? 0 : fruitless + 1;
    best = std::min(best, gap);
    if (fruitless > kFruitless && round > 10) return false;
    if (round > 0 && trimmed_ <= kTrimmed * goal.gap) {
      // Each group is made shorter by its own excess, where scaling all slopes would cost the
      // largest excess of all.
      if (rays_.step(loss, penalties, {w, sizes_}, kRayShare * goal.gap, excess_)) return true;
    }
    select(loss, penalties);
    rays = loss.has_rays() && !(round > 0 && rays && gap > kSlow * last);
    last = gap;
    if (rays) {
      sweep(loss, penalties, w, 1);
      const double rest = std::max(kRayShare * goal.gap, kRayRest * gap);
      rays_.step(loss, penalties, {w, sizes_}, rest);
      if (round + 1 == goal.rounds) return false;
      loss.look_everywhere();
      continue;
    }
    sweep(loss, penalties, w, kSweeps);
    for (const std::size_t g : chosen_) loss.look(loss.rows_of(g));
    gap = shortfall(loss, penalties, w);  // other groups are looked at before it counts
    if (gap <= goal.gap) {
      loss.look_everywhere();
      continue;
    }
    // The gap is proportional to the slopes, the energy of a step to their squares. The limits were
    // measured on paths of 1000x2500 in groups of ten and 300x2000 with ten scores: a tenth of both
    // takes a third longer.
    const double wanted = goal.gap / gap;
    const double share = std::clamp(wanted * wanted, 1e-6, 1e-2);
    if (newton_.step(loss, penalties, {w, sizes_}, share)) loss.look_everywhere();
  }
}

void GroupMinimiser::describe(const GroupPenalties& penalties, std::span<const double> w) {
  const std::size_t count = penalties.count();
  most_l2_.resize(count);
  sizes_.resize(count);
  excess_.resize(count);
  std::size_t largest = 0;
  for (std::size_t g = 0; g < count; ++g) {
    const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
    largest = std::max(largest, size);
    const auto l2 = penalties.l2.subspan(begin, size);
    most_l2_[g] = l2.empty() ? 0.0 : *std::ranges::max_element(l2);
    sizes_[g] = squared_length(w.data() + begin, size);
  }
  for (auto& room : room_) room.resize(largest);
}

/// Selects groups that are not zero, those whose slopes keep them from being so, and those whose
/// slopes fall short of that by no more than the largest excess: slopes change by about as much.
/// Groups that have to leave zero come first. After the others have moved their slopes may allow
/// zero, until the lengths are balanced, which they take no part in: they would never leave it.
void GroupMinimiser::select(const GroupQuadratic& loss, const GroupPenalties& penalties) {
  chosen_.clear();
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    double square = sizes_[g], least = 0.0;
    if (square == 0.0) {
      const std::size_t begin = penalties.begin(g), end = begin + penalties.size_of(g);
      for (std::size_t i = begin; i < end; ++i) {
        const double left = soft(loss.slopes()[i], penalties.l1[i]);
        square += left * left;
      }
      const double near = std::max(1.0 - largest_excess_, 0.0) * penalties.norm[g];
      least = near * near;
    }
    if (square > least) chosen_.push_back(g);
  }
  std::ranges::stable_partition(
      chosen_, [&](std::size_t g) { return sizes_[g] == 0.0 && excess_[g] > 0.0; });
}

/// Sweeps over the selected groups; at the end, their slopes may be out of date.
void GroupMinimiser::sweep(GroupQuadratic& loss, const GroupPenalties& penalties,
                           std::span<double> w, int sweeps) {
  for (int i = 0; i < sweeps; ++i) {
    for (const std::size_t g : chosen_) step(g, loss, penalties, w);
  }
}

/// Minimises over one group, by proximal steps on its own matrix; the decrease of the quadratic.
double GroupMinimiser::step(std::size_t g, GroupQuadratic& loss, const GroupPenalties& penalties,
                            std::span<double> w) {
  const Rows rows = loss.rows_of(g);
  const std::size_t size = penalties.size_of(g), begin = penalties.begin(g);
  loss.look(rows);
  double* const old = w.data() + begin;
  const double* const slope = loss.slopes().data() + begin;
  const double* const l1 = penalties.l1.data() + begin;
  const double* const l2 = penalties.l2.data() + begin;
  double* const x = room_[0].data();
  double* const image = room_[1].data();  // the group's matrix times x - old
  double* const u = room_[2].data();
  double* const bend = room_[3].data();
  double* const way = room_[4].data();  // x - old
  const double limit = loss.steep(g) + most_l2_[g];
  if (!(limit > 0.0)) return vanish(g, loss, penalties, w);
  const OwnMatrix own = loss.own(g);
  std::copy_n(old, size, x);
  std::fill_n(image, size, 0.0);
  std::fill_n(bend, size, limit);
  for (int inner = 0; inner < kInner; ++inner) {
    for (std::size_t i = 0; i < size; ++i)
      u[i] = limit * x[i] - (slope[i] + image[i] + l2[i] * x[i]);
    double change = 0.0, whole = 0.0;
    double* const next = u;  // in place: u[i] is read before x[i] is written
    block_minimiser(u, bend, l1, penalties.norm[g], size, next);
    for (std::size_t i = 0; i < size; ++i) {
      change += (next[i] - x[i]) * (next[i] - x[i]);
      x[i] = next[i];
      way[i] = x[i] - old[i];
      whole += way[i] * way[i];
    }
    multiply_own(own, rows.count, penalties.scores, way, image);
    if (!(change > kInnerLeft * whole)) break;
  }
  double decrease = 0.0, square = 0.0;
  bool moved = false;
  for (std::size_t i = 0; i < size; ++i) {
    moved |= way[i] != 0.0;
    decrease += 0.5 * way[i] * (image[i] + l2[i] * way[i]);
    square += x[i] * x[i];
    old[i] = x[i];
  }
  if (!moved) return 0.0;
  sizes_[g] = square;
  if (loss.has_rays()) {
    loss.move_ray(g, {way, size}, {old, size});
  } else {
    loss.move(g, 1, {way, size});
  }
  return decrease;
}

/// The loss does not depend on this group: with a penalty its minimum is at zero.
double GroupMinimiser::vanish(std::size_t g, GroupQuadratic& loss, const GroupPenalties& penalties,
                              std::span<double> w) {
  const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
  double square = 0.0;
  for (std::size_t i = begin; i < begin + size; ++i) {
    if (penalties.norm[g] > 0.0 || penalties.l1[i] > 0.0) w[i] = 0.0;
    square += w[i] * w[i];
  }
  sizes_[g] = square;
  return 0.0;
}

/// An estimate of the duality gap: slopes beyond the norms shrink the dual point, which costs that
/// share of the penalty and its square of the mean of squares; a slope that does not balance the
/// penalty of a group costs its product with the coefficients. Squares count as part of the slope.
double GroupMinimiser::shortfall(GroupQuadratic& loss, const GroupPenalties& penalties,
                                 std::span<const double> w) {
  double excess = 0.0, charge = 0.0, unbalanced = 0.0, mean_square = loss.square();
  double at_zero = 0.0, own_excess = 0.0;
  bool alone = false;  // whether there are numbers without a norm
  const auto slopes = loss.slopes(), q = loss.q();
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
    const double norm = penalties.norm[g], length = std::sqrt(sizes_[g]);
    double square = 0.0, along = 0.0, left = 0.0;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const double l1 = penalties.l1[i], value = w[i];
      const double rest = slopes[i] + penalties.l2[i] * value;
      const double beyond = soft(rest, l1);
      square += beyond * beyond;
      mean_square += (value - loss.origin(i)) * (slopes[i] + q[i]);
      along += value * rest + l1 * std::fabs(value);
      if (norm > 0.0) continue;
      alone = true;
      if (l1 > 0.0) {
        excess = std::max(excess, std::fabs(rest) / l1 - 1.0);
      } else if (penalties.l2[i] > 0.0) {
        left += 0.5 * rest * rest / penalties.l2[i];
      } else if (loss.steep(g) > 0.0) {
        left += rest * rest / loss.steep(g);
      }
    }
    const double own = group_charge(penalties, g, w.data() + begin);
    charge += own;
    excess_[g] = norm > 0.0 ? std::max(std::sqrt(square) / norm - 1.0, 0.0) : 0.0;
    if (length > 0.0) own_excess += own * excess_[g];
    if (!(length > 0.0)) at_zero = std::max(at_zero, excess_[g]);
    excess = std::max(excess, excess_[g]);
    unbalanced += std::fabs(along + norm * length) + left;
  }
  const bool all_norms = loss.has_rays() && !alone;
  trimmed_ = all_norms ? own_excess + at_zero * charge + unbalanced : INFINITY;
  largest_excess_ = excess;
  const double cut = excess / (1.0 + excess);  // of the dual point
  return cut * charge + 0.5 * cut * cut * std::max(mean_square, 0.0) + unbalanced;
}

}  // namespace minimand
