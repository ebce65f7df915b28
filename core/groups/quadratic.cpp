#include "groups/quadratic.hpp"

#include <algorithm>
#include <cmath>

namespace minimand {

GroupQuadratic::GroupQuadratic(std::span<const std::int64_t> starts, std::size_t scores)
    : steep_(starts.size() - 1, -1.0),
      starts_(starts),
      scores_(scores),
      has_rays_(2 * scores * (starts.size() - 1) <= static_cast<std::size_t>(starts.back())) {}

void GroupQuadratic::pose(std::span<const double> q, std::span<const double> origin,
                          double square) {
  q_ = q;
  origin_ = origin;
  square_ = square;
  slopes_.assign(q.begin(), q.end());
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
