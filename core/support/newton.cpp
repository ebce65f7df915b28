#include "support/newton.hpp"

#include <algorithm>

#include "common/lanes.hpp"

namespace minimand {
namespace {

// Conjugate gradients with a factor that is near: share of the energy that is left, and products.
// With a ratio of 2 at most between old and new l2, 12 leave 1e-18. Safeguards.
constexpr double kEnergyLeft = 1e-18;
constexpr int kProducts = 16;

/// image = G, without its line, times a vector that is zero but for the members' values. Four rows
/// at a time share each load and store of the image.
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
  for (; i < members.size(); ++i) add_own_row(gram, members[i], values[i], image);
}

/// The product of the Gram's line with a vector that is zero but for the members' values.
double along_line(const GramView& gram, std::span<const std::size_t> members,
                  std::span<const double> values) {
  double along = 0.0;
  for (std::size_t i = 0; i < members.size() && !gram.line.empty(); ++i) {
    along += gram.line[members[i]] * values[i];
  }
  return along;
}

double dot_of(std::span<const double> a, std::span<const double> b) {
  return dot(a.data(), b.data(), a.size());
}

}  // namespace

MINIMAND_CLONES void gradient_at(const GramView& gram, std::span<const double> q,
                                 std::span<const double> w, std::span<double> gradient) {
  for (std::size_t j = 0; j < w.size(); ++j) gradient.data()[j] = q.data()[j];
  add_product(gram, w, gradient);
}

bool SupportNewton::step(const GramView& gram, Penalties penalties, std::span<double> w,
                         std::span<double> gradient) {
  const std::size_t n = w.size();
  wanted_.resize(n);
  image_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const bool curved = gram.diagonal(j) + penalties.l2[j] > 0.0;
    wanted_[j] = curved && is_free(penalties, j, w[j]);
  }
  factor_.follow(gram, penalties.l2, wanted_);
  const auto members = factor_.members();
  const std::size_t size = members.size();
  const Support support = gather(penalties, w, gradient);
  right_.resize(size);
  for (std::size_t i = 0; i < size; ++i) right_[i] = -support.full_slope(i);
  solve(gram, l2_);
  std::vector<double>&targets = right_, &move = along_;
  move.resize(size);
  const auto bend = [&](std::span<const double> moved) {
    product_on(gram, members, moved, image_);
    const double along = along_line(gram, members, moved);
    double sum = gram.weight * along * along;
    for (std::size_t i = 0; i < size; ++i) sum += moved[i] * image_[members[i]];
    return sum;
  };
  if (!go_along(support, step_, targets, move, bend)) return false;
  product_on(gram, members, move, image_);
  add_line(gram, along_line(gram, members, move), image_);
  for (std::size_t i = 0; i < size; ++i) w[members[i]] = targets[i];
  for (std::size_t j = 0; j < n; ++j) gradient[j] += image_[j];
  return true;
}

/// The members' own numbers, in the order of the factor.
Support SupportNewton::gather(Penalties penalties, std::span<const double> w,
                              std::span<const double> gradient) {
  const auto members = factor_.members();
  const auto take = [&](std::span<const double> from, std::vector<double>& to) {
    to.resize(from.empty() ? 0 : members.size());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[members[i]];
    return std::span<const double>(to);
  };
  const auto values = take(w, start_), slopes = take(gradient, slope_);
  return {values,
          slopes,
          {take(penalties.l1, l1_), take(penalties.l2, l2_), take(penalties.lo, lo_),
           take(penalties.hi, hi_)}};
}

/// The factor's answer, corrected for the line of the Gram (Sherman and Morrison).
void SupportNewton::solve_by_factor(const GramView& gram, std::span<double> right) const {
  factor_.solve(right);
  if (gram.line.empty()) return;
  const double share =
      gram.weight * dot_of(line_, right) / (1.0 + gram.weight * dot_of(line_, solved_));
  for (std::size_t i = 0; i < right.size(); ++i) right[i] -= share * solved_[i];
}

/// step = (G_SS + diag l2)^-1 right. Where the factor is of another l2, by conjugate gradients.
void SupportNewton::solve(const GramView& gram, std::span<const double> l2) {
  const auto members = factor_.members();
  const std::size_t size = members.size();
  if (!gram.line.empty()) {
    line_.resize(size);
    for (std::size_t i = 0; i < size; ++i) line_[i] = gram.line[members[i]];
    solved_ = line_;
    factor_.solve(solved_);
  }
  step_ = right_;
  solve_by_factor(gram, step_);
  if (factor_.is_of(l2)) return;
  along_ = step_;
  residual_ = right_;
  full_.resize(size);
  std::fill(step_.begin(), step_.end(), 0.0);
  double energy = dot_of(residual_, along_);
  const double enough = kEnergyLeft * energy;
  for (int product = 0; product < kProducts && energy > enough; ++product) {
    product_on(gram, members, along_, image_);
    add_line(gram, along_line(gram, members, along_), image_);
    double bend = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      full_[i] = image_[members[i]] + l2[i] * along_[i];
      bend += along_[i] * full_[i];
    }
    if (!(bend > 0.0)) return;
    const double length = energy / bend;
    for (std::size_t i = 0; i < size; ++i) {
      step_[i] += length * along_[i];
      residual_[i] -= length * full_[i];
    }
    right_ = residual_;
    solve_by_factor(gram, right_);
    const double next = dot_of(residual_, right_);
    for (std::size_t i = 0; i < size; ++i) along_[i] = right_[i] + next / energy * along_[i];
    energy = next;
  }
}

}  // namespace minimand
