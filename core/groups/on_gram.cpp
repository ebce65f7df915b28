#include "groups/on_gram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/watch.hpp"

namespace minimand {
namespace {

constexpr int kFruitless = 3;  // rounds without a Newton step or a lower gap; safeguard

}  // namespace

/// An estimate of the duality gap: slopes beyond the norms shrink the dual point, which costs that
/// share of the penalty and its square of the mean of squares; a slope that does not balance the
/// penalty of a group costs its product with the coefficients. Squares count as part of the slope.
double GroupsOnGram::shortfall(const GroupModel& model, const GroupPenalties& penalties,
                               std::span<const double> w) const {
  double excess = 0.0, charge = 0.0, unbalanced = 0.0, mean_square = model.square;
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
    const double norm = penalties.norm[g], length = std::sqrt(facts_.sizes[g]);
    double square = 0.0, along = 0.0, left = 0.0;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const double l1 = penalties.l1[i], value = w[i];
      const double rest = facts_.gradient[i] + penalties.l2[i] * value;
      const double beyond = soft(rest, l1);
      square += beyond * beyond;
      mean_square += value * (facts_.gradient[i] + model.q[i]);
      along += value * rest + l1 * std::fabs(value);
      if (norm > 0.0) continue;
      if (l1 > 0.0) {
        excess = std::max(excess, std::fabs(rest) / l1 - 1.0);
      } else if (penalties.l2[i] > 0.0) {
        left += 0.5 * rest * rest / penalties.l2[i];
      } else if (facts_.steep[g] > 0.0) {
        left += rest * rest / facts_.steep[g];
      }
    }
    charge += group_charge(penalties, g, w.data() + begin);
    if (norm > 0.0) excess = std::max(excess, std::sqrt(square) / norm - 1.0);
    unbalanced += std::fabs(along + norm * length) + left;
  }
  const double cut = excess / (1.0 + excess);  // of the dual point
  return cut * charge + 0.5 * cut * cut * std::max(mean_square, 0.0) + unbalanced;
}

bool GroupsOnGram::minimise(const GroupModel& model, const GroupPenalties& penalties,
                            std::span<double> w, GroupGoal goal) {
  facts_.describe(model, penalties, w);
  int fruitless = 0;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t round = 0;; ++round) {
    double gap = shortfall(model, penalties, w);
    if (gap <= goal.gap) return true;
    if (round == goal.rounds || stopping()) return false;
    fruitless = gap < 0.9 * best ? 0 : fruitless + 1;
    best = std::min(best, gap);
    if (fruitless > kFruitless && round > 10) return false;
    const double gained = sweeps_.sweep(model.gram, penalties, facts_, w);
    if (!(gained >= 0.0)) return false;  // not a number
    gap = shortfall(model, penalties, w);
    if (gap <= goal.gap) return true;
    // The gap is proportional to the slopes, the energy of a step to their squares. The limits were
    // measured on paths of 1000x2500 in groups of ten and 300x2000 with ten scores: a tenth of both
    // takes a third longer.
    const double wanted = goal.gap / gap;
    newton_.step(model.gram, penalties, facts_, w, std::clamp(wanted * wanted, 1e-6, 1e-2));
  }
}

}  // namespace minimand
