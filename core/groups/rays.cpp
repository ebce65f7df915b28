#include "groups/rays.hpp"

#include <algorithm>
#include <cmath>

#include "groups/newton_vectors.hpp"
#include "scalar/functions.hpp"

namespace minimand {
namespace {

constexpr int kHalvings = 8;   // safeguard
constexpr int kProducts = 60;  // safeguard

}  // namespace

bool GroupRays::step(GroupQuadratic& loss, const GroupPenalties& penalties, GroupPoint point,
                     double goal, std::span<const double> less) {
  groups_.clear();
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    if (point.sizes[g] > 0.0) groups_.push_back(g);
  }
  if (groups_.empty()) return false;
  describe(loss, penalties, point);
  for (std::size_t k = 0; !less.empty() && k < groups_.size(); ++k) {
    slopes_[k] -= less[groups_[k]] * charges_[k];
  }
  solve(loss, goal);
  if (!falls(loss)) return false;
  loss.stretch(move_);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::size_t g = groups_[i], begin = penalties.begin(g);
    const double factor = 1.0 + move_[i];
    for (double& value : point.w.subspan(begin, penalties.size_of(g))) value *= factor;
    point.sizes[g] *= factor * factor;
  }
  return true;
}

/// Slopes and curvatures of the loss and the penalties along the rays.
void GroupRays::describe(GroupQuadratic& loss, const GroupPenalties& penalties, GroupPoint point) {
  for (auto* numbers :
       {&slopes_, &squares_, &charges_, &bends_, &step_, &ready_, &move_, &image_}) {
    numbers->resize(groups_.size());
  }
  loss.choose_rays(groups_, point.w);
  loss.slopes_of_rays(slopes_);
  loss.bends_of_rays(bends_);
  for (std::size_t k = 0; k < groups_.size(); ++k) {
    const std::size_t g = groups_[k], begin = penalties.begin(g);
    double charge = penalties.norm[g] * std::sqrt(point.sizes[g]), square = 0.0;
    for (std::size_t i = begin; i < begin + penalties.size_of(g); ++i) {
      charge += penalties.l1[i] * std::fabs(point.w[i]);
      square += penalties.l2[i] * point.w[i] * point.w[i];
    }
    slopes_[k] += charge + square;
    charges_[k] = charge;
    squares_[k] = square;
  }
}

void GroupRays::product(GroupQuadratic& loss, std::span<const double> x,
                        std::span<double> image) const {
  loss.multiply_rays(x, image);
  for (std::size_t i = 0; i < x.size(); ++i) image[i] += squares_[i] * x[i];
}

/// What the residual costs of the gap: see `GroupMinimiser::shortfall`.
double GroupRays::price() const {
  double unbalanced = 0.0, excess = 0.0, total = 0.0;
  for (std::size_t k = 0; k < residual_.size(); ++k) {
    const double left = std::fabs(residual_[k]);
    unbalanced += left;
    total += charges_[k];
    if (charges_[k] > 0.0) excess = std::max(excess, left / charges_[k]);
  }
  return unbalanced + excess * total;
}

/// Conjugate gradients, scaled by the diagonal.
void GroupRays::solve(GroupQuadratic& loss, double goal) {
  const auto precondition = [&] {
    for (std::size_t i = 0; i < bends_.size(); ++i) {
      const double bend = bends_[i] + squares_[i];
      ready_[i] = bend > 0.0 ? residual_[i] / bend : 0.0;
    }
  };
  std::ranges::fill(step_, 0.0);
  residual_.assign(slopes_.begin(), slopes_.end());
  for (double& value : residual_) value = -value;
  precondition();
  move_ = ready_;
  double energy = inner_product(residual_, ready_);
  for (int count = 0; count < kProducts && price() > goal; ++count) {
    product(loss, move_, image_);
    const double bend = inner_product(move_, image_);
    if (!(bend > 0.0)) break;
    advance(step_, residual_, move_, image_, energy / bend);
    precondition();
    const double next = inner_product(residual_, ready_);
    turn(move_, ready_, next / energy);
    energy = next;
  }
}

/// Goes as far as the objective falls, to `move_`; a group that would turn round becomes zero.
bool GroupRays::falls(GroupQuadratic& loss) {
  double share = 1.0;
  for (int trial = 0; trial < kHalvings; ++trial, share *= 0.5) {
    for (std::size_t i = 0; i < step_.size(); ++i) move_[i] = std::max(share * step_[i], -1.0);
    product(loss, move_, image_);
    const double change = inner_product(slopes_, move_) + 0.5 * inner_product(move_, image_);
    if (!std::isfinite(change)) return false;
    if (change <= 0.0) return true;
  }
  return false;
}

}  // namespace minimand
