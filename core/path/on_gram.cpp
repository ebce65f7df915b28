#include "path/on_gram.hpp"

#include <algorithm>
#include <cmath>

#include "common/lanes.hpp"
#include "common/watch.hpp"
#include "path/gap.hpp"

namespace minimand {
namespace {

constexpr double kFarthest = 2.0;  // steps like the last one that a line is drawn on for; safeguard

// Conjugate gradients with a factor that is near: share of the energy that is left, and products.
// With a ratio of 2 at most between old and new l2, 12 leave 1e-18. Safeguards.
constexpr double kEnergyLeft = 1e-18;
constexpr int kProducts = 16;

/// The gap on the Gram; the mean of the squares comes from the same gradient.
MINIMAND_INLINE double gap_here(const SquaredMean& loss, std::span<const double> gradient,
                                std::span<const double> w, Penalties penalties) {
  double square = loss.square;
  for (std::size_t j = 0; j < w.size(); ++j) {
    square += w.data()[j] * (gradient.data()[j] + loss.q.data()[j]);
  }
  return squared_gap(square > 0.0 ? square : 0.0, gradient, w, penalties).gap;
}

MINIMAND_CLONES void gradient_at(const SquaredMean& loss, std::span<const double> w,
                                 std::span<double> gradient) {
  for (std::size_t j = 0; j < w.size(); ++j) gradient.data()[j] = loss.q.data()[j];
  add_product(loss.gram, w, gradient);
}

MINIMAND_CLONES double gap_on_gram(const SquaredMean& loss, std::span<const double> gradient,
                                   std::span<const double> w, Penalties penalties) {
  return gap_here(loss, gradient, w, penalties);
}

/// One step along every coordinate; what they gain.
MINIMAND_CLONES double sweep(const GramView& gram, std::span<double> gradient, std::span<double> w,
                             Penalties penalties) {
  GramDescent descent{gram, gradient, w, penalties};
  double decrease = 0.0;
  for (std::size_t j = 0; j < w.size(); ++j) decrease += descent.step(j);
  return decrease;
}

/// image = G times a vector that is zero but for the members' values. Four rows at a time share
/// each load and store of the image.
MINIMAND_CLONES void product_on(const GramView& gram, std::span<const std::size_t> members,
                                std::span<const double> values, std::span<double> image) {
  const std::size_t n = gram.count;
  double* __restrict to = image.data();
  for (std::size_t k = 0; k < n; ++k) to[k] = 0.0;
  std::size_t i = 0;
  for (; i + 4 <= members.size(); i += 4) {
    const double* const row0 = gram.row(members[i]);
    const double* const row1 = gram.row(members[i + 1]);
    const double* const row2 = gram.row(members[i + 2]);
    const double* const row3 = gram.row(members[i + 3]);
    const double v0 = values[i], v1 = values[i + 1], v2 = values[i + 2], v3 = values[i + 3];
    for (std::size_t k = 0; k < n; ++k) {
      to[k] += (v0 * row0[k] + v1 * row1[k]) + (v2 * row2[k] + v3 * row3[k]);
    }
  }
  for (; i < members.size(); ++i) add_row(gram, members[i], values[i], image);
}

double dot_of(std::span<const double> a, std::span<const double> b) {
  return dot(a.data(), b.data(), a.size());
}

double charge(double l1, double l2, double value) {
  return l1 * std::fabs(value) + 0.5 * l2 * value * value;
}

}  // namespace

double steps_ahead(double before, double last, double alpha) {
  const double ahead = (last - alpha) / (before - last);
  return ahead > 0.0 && ahead <= kFarthest ? ahead : 0.0;
}

void draw_on(std::span<const double> before, std::span<const double> last, double ahead,
             std::span<double> next) {
  for (std::size_t j = 0; j < last.size(); ++j) {
    const double value = ahead > 0.0 ? last[j] + ahead * (last[j] - before[j]) : last[j];
    next[j] = last[j] * value > 0.0 ? value : 0.0;
  }
}

std::size_t PathOnGram::solve(const SquaredMean& loss, const PathGrid& grid, std::size_t first,
                              bool started, PathGoal goal) {
  const std::size_t n = loss.q.size();
  for (std::vector<double>* vector : {&gradient_, &image_, &full_}) vector->resize(n);
  wanted_.resize(n);
  const auto row = [&](std::size_t k) { return grid.coefs.subspan(k * n, n); };
  for (std::size_t k = first; k < grid.alphas.size(); ++k) {
    const auto w = row(k);
    if (k > 0 && !(k == first && started)) {
      const auto before = row(k > 1 ? k - 2 : k - 1);
      const double ahead =
          k > 1 ? steps_ahead(grid.alphas[k - 2], grid.alphas[k - 1], grid.alphas[k]) : 0.0;
      draw_on(before, row(k - 1), ahead, w);
    }
    if (!settle(loss, grid.penalties(k, n), w, goal)) return k;
  }
  return grid.alphas.size();
}

bool PathOnGram::settle(const SquaredMean& loss, Penalties penalties, std::span<double> w,
                        PathGoal goal) {
  gradient_at(loss, w, gradient_);
  for (std::size_t round = 0;; ++round) {
    if (gap_on_gram(loss, gradient_, w, penalties) <= goal.gap) return true;
    if (round == goal.rounds || stopping()) return false;
    const double decrease = sweep(loss.gram, gradient_, w, penalties);
    if (!(decrease >= 0.0)) return false;  // not a number
    if (gap_on_gram(loss, gradient_, w, penalties) <= goal.gap) return true;
    if (!newton(loss, penalties, w)) return false;
  }
}

/// A Newton step on the support; false if it leads nowhere.
///
/// With the signs held the problem is a linear system. A step that keeps them solves it. Otherwise
/// coefficients that would change their sign stay at zero if the objective falls all the same;
/// failing that, the step ends where the first of them gets there.
bool PathOnGram::newton(const SquaredMean& loss, Penalties penalties, std::span<double> w) {
  const std::size_t n = w.size();
  for (std::size_t j = 0; j < n; ++j) {
    const bool curved = loss.gram.row(j)[j] + penalties.l2[j] > 0.0;
    wanted_[j] = curved && (w[j] != 0.0 || penalties.l1[j] == 0.0);
  }
  factor_.follow(loss.gram, penalties.l2, wanted_);
  const auto members = factor_.members();
  const std::size_t size = members.size();
  right_.resize(size);
  step_.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t j = members[i];
    const double sign = static_cast<double>((w[j] > 0.0) - (w[j] < 0.0));
    right_[i] = -(gradient_[j] + penalties.l2[j] * w[j] + penalties.l1[j] * sign);
  }
  solve_on_support(loss.gram, penalties);
  double first = 1.0;  // share of the step at which a coefficient crosses zero
  double change = 0.0;
  std::vector<double>& clipped = right_;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t j = members[i];
    if (!std::isfinite(step_[i])) return false;
    const double target = w[j] + step_[i];
    const bool crosses = penalties.l1[j] > 0.0 && w[j] * target < 0.0;
    clipped[i] = crosses ? -w[j] : step_[i];
    if (crosses) first = std::min(first, -w[j] / step_[i]);
    const double l1 = penalties.l1[j], l2 = penalties.l2[j];
    change += clipped[i] * gradient_[j] + charge(l1, l2, w[j] + clipped[i]) - charge(l1, l2, w[j]);
  }
  product_on(loss.gram, members, clipped, image_);
  if (first < 1.0) {
    for (std::size_t i = 0; i < size; ++i) change += 0.5 * clipped[i] * image_[members[i]];
    if (!(change <= 0.0)) {
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t j = members[i];
        const bool ends = penalties.l1[j] > 0.0 && w[j] * (w[j] + first * step_[i]) <= 0.0;
        clipped[i] = ends ? -w[j] : first * step_[i];
      }
      product_on(loss.gram, members, clipped, image_);
    }
  }
  for (std::size_t i = 0; i < size; ++i) w[members[i]] += clipped[i];
  for (std::size_t j = 0; j < n; ++j) gradient_[j] += image_[j];
  return true;
}

/// step = (G_SS + diag l2)^-1 right. Where the factor is of another l2, by conjugate gradients.
void PathOnGram::solve_on_support(const GramView& gram, Penalties penalties) {
  const auto members = factor_.members();
  const std::size_t size = members.size();
  step_ = right_;
  factor_.solve(step_);
  if (factor_.is_of(penalties.l2)) return;
  along_ = step_;
  residual_ = right_;
  std::fill(step_.begin(), step_.end(), 0.0);
  double energy = dot_of(residual_, along_);
  const double enough = kEnergyLeft * energy;
  for (int product = 0; product < kProducts && energy > enough; ++product) {
    product_on(gram, members, along_, image_);
    double bend = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      full_[i] = image_[members[i]] + penalties.l2[members[i]] * along_[i];
      bend += along_[i] * full_[i];
    }
    if (!(bend > 0.0)) return;
    const double length = energy / bend;
    for (std::size_t i = 0; i < size; ++i) {
      step_[i] += length * along_[i];
      residual_[i] -= length * full_[i];
    }
    right_ = residual_;
    factor_.solve(right_);
    const double next = dot_of(residual_, right_);
    for (std::size_t i = 0; i < size; ++i) along_[i] = right_[i] + next / energy * along_[i];
    energy = next;
  }
}

}  // namespace minimand
