#include "groups/quadratic.hpp"

#include <algorithm>
#include <cmath>

namespace minimand {

GroupQuadratic::GroupQuadratic(std::span<const std::int64_t> starts, std::size_t scores)
    : scores_(scores) {
  grow(starts);
}

void GroupQuadratic::grow(std::span<const std::int64_t> starts) {
  starts_ = starts;
  steep_.resize(count(), -1.0);
  has_rays_ = 2 * scores_ * count() <= static_cast<std::size_t>(starts.back());
}

void GroupQuadratic::pose(std::span<const double> q, std::span<const double> origin,
                          double square) {
  const std::size_t known = q_.size();
  const bool same = origin.empty() && origin_.empty() && known <= q.size() &&
                    std::ranges::equal(q.first(known), q_);
  if (!same) forget();
  q_.assign(q.begin(), q.end());
  origin_ = origin;
  square_ = square;
  slopes_.resize(q.size());
  if (forgets_ || here_.empty() || known == q.size()) return;
  look_back({known / scores_, (q.size() - known) / scores_});
  for (auto* place : {&here_, &before_}) {
    if (!place->empty()) place->resize(q.size(), 0.0);
  }
}

void GroupQuadratic::arrive(std::span<const double> w, bool looked) {
  here_.assign(w.begin(), w.end());
  if (!looked) forget();
}

bool GroupQuadratic::came(std::span<const double> before, std::span<const double> here) const {
  return !forgets_ && std::ranges::equal(before, before_) && std::ranges::equal(here, here_);
}

void GroupQuadratic::go_on(double ahead) {
  draw_on(ahead);
  before_.swap(here_);
  here_.clear();
}

Rows GroupQuadratic::rows_of(std::size_t group) const {
  const auto first = static_cast<std::size_t>(starts_[group]);
  return {first, static_cast<std::size_t>(starts_[group + 1]) - first};
}

Rows GroupQuadratic::rows_of(std::size_t first, std::size_t groups) const {
  const auto begin = static_cast<std::size_t>(starts_[first]);
  return {begin, static_cast<std::size_t>(starts_[first + groups]) - begin};
}

void GroupQuadratic::start(std::span<const double> w) {
  remember();
  before_.swap(here_);
  here_.clear();
  slopes_.assign(q_.begin(), q_.end());
  begin();
  std::vector<double> way(w.begin(), w.end());
  for (std::size_t i = 0; i < origin_.size(); ++i) way[i] -= origin_[i];
  const auto values = [&](std::size_t first, std::size_t groups) {
    const Rows rows = rows_of(first, groups);
    return std::span<const double>(way).subspan(rows.first * scores_, rows.count * scores_);
  };
  std::size_t first = 0;  // groups beside each other that are not zero move at once
  bool moved = false;
  for (std::size_t g = 0; g <= count(); ++g) {
    if (g < count() && std::ranges::any_of(values(g, 1), [](double x) { return x != 0.0; })) {
      continue;
    }
    if (g > first) {
      move(first, g - first, values(first, g - first));
      moved = true;
    }
    first = g + 1;
  }
  for (std::size_t g = 0; g < count(); ++g) {
    const Rows rows = rows_of(g);
    const std::size_t from = rows.first * scores_, size = rows.count * scores_;
    if (from + size > before_.size()) break;  // groups from here on are new
    const auto was = std::span<const double>(before_).subspan(from, size);
    if (std::ranges::equal(w.subspan(from, size), was)) recall(g);
  }
  if (forgets_) before_.clear();
  forgets_ = false;
  if (moved) look_everywhere();
}

/// The largest eigenvalue is at most the largest row sum, and at most the Frobenius norm.
double GroupQuadratic::steep(std::size_t group) {
  double& known = steep_[group];
  if (known >= 0.0) return known;
  const OwnMatrix matrix = own(group);
  const std::size_t rows = rows_of(group).count;
  double most = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < rows; ++j) {
      const double value = matrix.row(i)[j];
      sum += std::fabs(value);
      squares += value * value;
    }
    most = std::max(most, sum);
  }
  return known = std::min(most, std::sqrt(squares));
}

}  // namespace minimand
