#include "groups/column_quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "groups/lines.hpp"

namespace minimand {

ColumnQuadratic::ColumnQuadratic(std::span<const double> columns, std::size_t n,
                                 std::span<const std::int64_t> starts, std::span<const double> q,
                                 double square, std::size_t scores)
    : GroupQuadratic(starts, q, square, scores),
      columns_(columns),
      n_(n),
      image_(n * scores),
      own_(starts.size() - 1),
      low_(q.size() / scores),
      size_(q.size() / scores),
      low_image_(n * scores) {}

void ColumnQuadratic::begin() { std::ranges::fill(image_, 0.0); }

void ColumnQuadratic::look(Rows rows) {
  const std::size_t from = rows.first * scores(), size = rows.count * scores();
  dots_of_lines(column(rows.first), rows.count, n_, image_.data(), scores(), slopes_.data() + from);
  for (std::size_t i = from; i < from + size; ++i) slopes_[i] += q()[i];
}

void ColumnQuadratic::look_everywhere() { look({0, low_.size()}); }

void ColumnQuadratic::move(Rows rows, std::span<const double> change) {
  add_lines(column(rows.first), rows.count, n_, change.data(), scores(), image_.data());
}

OwnMatrix ColumnQuadratic::own(std::size_t group) {
  const Rows rows = rows_of(group);
  auto& known = own_[group];
  if (known.empty()) {
    known.resize(rows.count * rows.count);
    for (std::size_t i = 0; i < rows.count; ++i) {  // the lower half, and its mirror image
      dots_of_lines(column(rows.first), i + 1, n_, column(rows.first + i), 1,
                    known.data() + i * rows.count);
      for (std::size_t j = 0; j < i; ++j) known[j * rows.count + i] = known[i * rows.count + j];
    }
  }
  return {known.data(), rows.count};
}

void ColumnQuadratic::choose(std::span<const Rows> parts) {
  chosen_.clear();
  units_.clear();
  for (const Rows part : parts) {
    for (std::size_t r = part.first; r < part.first + part.count; ++r) {
      if (!low_[r]) lower(r);
      chosen_.push_back(low_[r].get());
      units_.push_back(size_[r]);
    }
  }
}

void ColumnQuadratic::lower(std::size_t row) {
  const double* const from = column(row);
  double most = 0.0;
  for (std::size_t i = 0; i < n_; ++i) most = std::max(most, std::fabs(from[i]));
  size_[row] = most > 0.0 ? most : 1.0;
  low_[row] = std::make_unique_for_overwrite<float[]>(n_);
  for (std::size_t i = 0; i < n_; ++i) low_[row][i] = static_cast<float>(from[i] / size_[row]);
}

void ColumnQuadratic::multiply(std::span<const double> d, std::span<double> image) {
  const std::size_t k = scores();
  double most = 0.0;
  scaled_.resize(d.size());
  for (std::size_t i = 0; i < d.size(); ++i) {
    scaled_[i] = d[i] * units_[i / k];
    most = std::max(most, std::fabs(scaled_[i]));
  }
  if (!(most > 0.0)) most = 1.0;
  for (double& value : scaled_) value /= most;
  std::ranges::fill(low_image_, 0.0f);
  add_lines(chosen_.data(), chosen_.size(), n_, scaled_.data(), k, low_image_.data());
  dots_of_lines(chosen_.data(), chosen_.size(), n_, low_image_.data(), k, image.data());
  for (std::size_t i = 0; i < d.size(); ++i) image[i] *= most * units_[i / k];
}

}  // namespace minimand
