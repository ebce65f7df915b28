#include "kernel/free_positions.hpp"

#include <cmath>

namespace minimand {
namespace {

constexpr double kRidge = 4e4;  // ulp of the diagonal and unknown; safeguard: the least
                                // that a small system does not call singular

bool is_free(const Block<double>& block, std::size_t k) {
  const double a = block.a[k];
  const bool at_corner = a == 0.0 && block.above[k] != block.below[k];
  return a > block.low[k] && a < block.high[k] && !at_corner;
}

double work_of_factor(std::size_t unknowns) {
  const double m = static_cast<double>(unknowns);
  return m * m * m / 3.0 + m * m;
}

double sum_of(std::span<const double> values, Range range) {
  double sum = 0.0;
  for (std::size_t i = range.begin; i < range.end; ++i) sum += values[i];
  return sum;
}

}  // namespace

std::size_t FreePositions::count(const Block<double>& block) {
  std::size_t found = 0;
  for (std::size_t k = 0; k < block.size; ++k) found += is_free(block, k);
  return found;
}

double FreePositions::move(Block<double>& block, bool balanced, double budget) {
  free_.clear();
  slope_.clear();
  for (std::size_t k = 0; k < block.size; ++k) {
    if (!is_free(block, k)) continue;
    free_.push_back(k);
    slope_.push_back((block.a[k] > 0.0 ? block.above[k] : block.below[k]) - block.f[k]);
  }
  double used = 0.0;
  while (free_.size() > (balanced ? 1u : 0u)) {
    const double work = work_of_factor(free_.size());
    if (used + work > budget || !find_step(block, balanced)) break;
    const double bend = slopes_along(block);
    double gain = 0.0, room = std::numeric_limits<double>::infinity(), end = 0.0;
    std::size_t first = 0;
    for (std::size_t i = 0; i < free_.size(); ++i) {
      gain += slope_[i] * step_[i];
      if (step_[i] == 0.0) continue;
      const double to = step_[i] > 0.0 ? top_of(block, free_[i]) : bottom_of(block, free_[i]);
      const double length = std::max((to - block.a[free_[i]]) / step_[i], 0.0);
      if (length < room) {
        room = length;
        first = i;
        end = to;
      }
    }
    if (!(gain > 0.0)) break;
    const double best = bend > 0.0 ? std::min(gain / bend, 1.0) : 1.0;
    const double t = std::min(room, best);
    for (std::size_t i = 0; i < free_.size(); ++i) {
      block.a[free_[i]] += t * step_[i];
      slope_[i] -= t * change_[i];
    }
    used += work;
    if (t < room) break;
    block.a[free_[first]] = end;
    free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(first));
    slope_.erase(slope_.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return used;
}

/// The solution of the system; false if it is singular even with the ridge.
bool FreePositions::find_step(Block<double>& block, bool balanced) {
  const std::size_t m = free_.size();
  const double ridge = kRidge * std::numeric_limits<double>::epsilon() * static_cast<double>(m);
  matrix_.resize(m * m);
  for (std::size_t i = 0; i < m; ++i) {
    const double* const row = block.row(free_[i]);
    for (std::size_t j = 0; j <= i; ++j) matrix_[i * m + j] = row[free_[j]];
    matrix_[i * m + i] += ridge * matrix_[i * m + i];
  }
  if (!system_.factorise(matrix_, m)) return false;
  step_ = slope_;
  system_.solve(step_);
  if (balanced) balance(block);
  for (const double entry : step_) {
    if (!std::isfinite(entry)) return false;
  }
  return true;
}

/// Takes the multiples of the levels from the step that make the sum of every group zero.
void FreePositions::balance(const Block<double>& block) {
  const std::size_t m = free_.size();
  const std::size_t first = static_cast<std::size_t>(  // free positions are in order
      std::lower_bound(free_.begin(), free_.end(), block.begin[1]) - free_.begin());
  const Range groups[2] = {{0, first}, {first, m}};
  double sums[2] = {0.0, 0.0}, own[2][2] = {{1.0, 0.0}, {0.0, 1.0}};
  for (std::size_t g = 0; g < 2; ++g) {
    images_[g].assign(m, 0.0);
    if (groups[g].size() == 0) continue;
    std::fill_n(images_[g].begin() + static_cast<std::ptrdiff_t>(groups[g].begin), groups[g].size(),
                1.0);
    system_.solve(images_[g]);
    sums[g] = sum_of(step_, groups[g]);
    for (std::size_t h = 0; h < 2; ++h) own[h][g] = sum_of(images_[g], groups[h]);
    if (groups[1 - g].size() == 0) own[1 - g][g] = 0.0;
  }
  const double determinant = own[0][0] * own[1][1] - own[0][1] * own[1][0];
  const double levels[2] = {(sums[0] * own[1][1] - sums[1] * own[0][1]) / determinant,
                            (sums[1] * own[0][0] - sums[0] * own[1][0]) / determinant};
  for (std::size_t i = 0; i < m; ++i) {
    step_[i] -= levels[0] * images_[0][i] + levels[1] * images_[1][i];
  }
  for (const Range& group : groups) {  // the sums stay as they are, up to rounding
    if (group.size() == 0) continue;
    const double mean = sum_of(step_, group) / static_cast<double>(group.size());
    for (std::size_t i = group.begin; i < group.end; ++i) step_[i] -= mean;
  }
}

/// K_FF times the step, and the curvature along it.
double FreePositions::slopes_along(Block<double>& block) {
  double bend = 0.0;
  change_.assign(free_.size(), 0.0);
  for (std::size_t i = 0; i < free_.size(); ++i) {
    const double* const row = block.row(free_[i]);
    for (std::size_t j = 0; j < free_.size(); ++j) change_[i] += row[free_[j]] * step_[j];
    bend += change_[i] * step_[i];
  }
  return bend;
}

}  // namespace minimand
