#include "interior/rises.hpp"

#include <algorithm>
#include <limits>

#include "common/targets.hpp"

namespace minimand {
namespace {

/// The largest step that keeps x >= 0; 0/0, at an end where nothing moves, is no limit.
MINIMAND_CLONES double largest_step(const double* x, const double* dx, std::size_t n) {
  double fastest = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    const double ratio = dx[i] / x[i];
    fastest = ratio < fastest ? ratio : fastest;  // not for NaN
  }
  return fastest < 0.0 ? -1.0 / fastest : std::numeric_limits<double>::infinity();
}

MINIMAND_CLONES void changes_of_primal(const double* goal, const double* dual, const double* primal,
                                       const double* d_dual, double* d_primal, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) d_primal[i] = (goal[i] - primal[i] * d_dual[i]) / dual[i];
}

MINIMAND_CLONES void goals(const double* dual, const double* primal, const double* d_dual,
                           const double* d_primal, double aim, double* goal, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    goal[i] = aim - dual[i] * primal[i] - d_dual[i] * d_primal[i];
  }
}

}  // namespace

Rises::Rises(const RiserForm& form, std::span<double> dual, std::span<double> primal)
    : form_(form),
      width_(form.width()),
      all_(form.side.size() * width_),
      ended_(form.height.size() * width_),
      dual_(dual),
      primal_(primal),
      d_dual_(dual.size()),
      d_primal_(dual.size()),
      goal_(dual.size()),
      rate_(all_),
      pull_(all_),
      lag_(all_) {}

double Rises::measure() const {
  double total = form_.weight.empty() ? 1.0 : 0.0;
  for (const double weight : form_.weight) total += weight;
  return total * form_.share * static_cast<double>(dual_.size() / width_);
}

double Rises::products() const { return products_after(0.0, 0.0); }

double Rises::products_after(double dual, double primal) const {
  const std::size_t lines = dual_.size() / std::max<std::size_t>(width_, 1);
  const std::size_t risers = form_.side.size();
  double total = 0.0;
  for (std::size_t line = 0; line < lines; ++line) {
    const std::size_t riser = line < risers ? line : line - risers;
    for (std::size_t j = 0; j < width_; ++j) {
      const std::size_t e = line * width_ + j;
      total +=
          weight(riser, j) * (dual_[e] + dual * d_dual_[e]) * (primal_[e] + primal * d_primal_[e]);
    }
  }
  return total;
}

void Rises::begin_step(std::span<const double> t, std::span<double> rates) {
  std::fill(rates.begin(), rates.end(), 0.0);
  for (std::size_t riser = 0; riser < form_.side.size(); ++riser) {
    const double side = form_.side[riser], knot = form_.knot[riser], bend = form_.bend[riser];
    const bool ends = riser < form_.height.size();
    for (std::size_t j = 0; j < width_; ++j) {
      const std::size_t e = riser * width_ + j, f = owner(riser, j);
      double stiff = primal_[e] / dual_[e];
      if (ends) stiff += primal_[all_ + e] / dual_[all_ + e];
      rate_[e] = 1.0 / (stiff + bend);
      lag_[e] = pull_[e] = side * (t[f] - knot) - bend * dual_[e];
      rates[f] += rate_[e];
    }
  }
  for (std::size_t e = 0; e < dual_.size(); ++e) goal_[e] = -dual_[e] * primal_[e];
}

void Rises::pulled(std::span<double> slopes) const {
  const bool common = form_.base.size() == 1;
  for (std::size_t f = 0; f < slopes.size(); ++f) slopes[f] = form_.base[common ? 0 : f];
  for (std::size_t riser = 0; riser < form_.side.size(); ++riser) {
    const double side = form_.side[riser];
    for (std::size_t j = 0; j < width_; ++j) {
      const std::size_t e = riser * width_ + j;
      slopes[owner(riser, j)] += side * (dual_[e] + rate_[e] * pull_[e]);
    }
  }
}

void Rises::follow(std::span<const double> dt) {
  for (std::size_t riser = 0; riser < form_.side.size(); ++riser) {
    const double side = form_.side[riser];
    for (std::size_t j = 0; j < width_; ++j) {
      const std::size_t e = riser * width_ + j;
      d_dual_[e] = rate_[e] * (side * dt[owner(riser, j)] + pull_[e]);
    }
  }
  for (std::size_t e = 0; e < ended_; ++e) d_dual_[all_ + e] = -d_dual_[e];
  changes_of_primal(goal_.data(), dual_.data(), primal_.data(), d_dual_.data(), d_primal_.data(),
                    dual_.size());
}

void Rises::recentre(double mu) {
  goals(dual_.data(), primal_.data(), d_dual_.data(), d_primal_.data(), form_.share * mu,
        goal_.data(), dual_.size());
  for (std::size_t e = 0; e < all_; ++e) pull_[e] = lag_[e] + primal_[e] + goal_[e] / dual_[e];
  for (std::size_t e = 0; e < ended_; ++e) {
    pull_[e] -= primal_[all_ + e] + goal_[all_ + e] / dual_[all_ + e];
  }
}

Rises::Room Rises::room() const {
  return {largest_step(dual_.data(), d_dual_.data(), dual_.size()),
          largest_step(primal_.data(), d_primal_.data(), primal_.size())};
}

void Rises::move(double dual, double primal) {
  for (std::size_t e = 0; e < dual_.size(); ++e) {
    dual_[e] += dual * d_dual_[e];
    primal_[e] += primal * d_primal_[e];
  }
  for (std::size_t e = all_; e < dual_.size(); ++e) dual_[e] = std::max(dual_[e], 0.0);
}

}  // namespace minimand
