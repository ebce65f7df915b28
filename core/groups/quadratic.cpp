#include "groups/quadratic.hpp"

#include <algorithm>
#include <cmath>

namespace minimand {

GroupQuadratic::GroupQuadratic(std::span<const std::int64_t> starts, std::span<const double> q,
                               double square, std::size_t scores)
    : slopes_(q.begin(), q.end()),
      starts_(starts),
      q_(q),
      square_(square),
      scores_(scores),
      steep_(starts.size() - 1, -1.0) {}

Rows GroupQuadratic::rows_of(std::size_t group) const {
  const auto first = static_cast<std::size_t>(starts_[group]);
  return {first, static_cast<std::size_t>(starts_[group + 1]) - first};
}

void GroupQuadratic::start(std::span<const double> w) {
  begin();
  const auto values = [&](Rows rows) {
    return w.subspan(rows.first * scores_, rows.count * scores_);
  };
  Rows run{0, 0};  // groups beside each other that are not zero move at once
  for (std::size_t g = 0; g < count(); ++g) {
    const Rows rows = rows_of(g);
    if (std::ranges::any_of(values(rows), [](double x) { return x != 0.0; })) {
      run = {run.count > 0 ? run.first : rows.first, run.count + rows.count};
    } else if (run.count > 0) {
      move(run, values(run));
      run = {0, 0};
    }
  }
  if (run.count > 0) move(run, values(run));
  look_everywhere();
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
