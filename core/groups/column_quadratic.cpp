#include "groups/column_quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "groups/lines.hpp"
#include "groups/panels.hpp"

namespace minimand {
namespace {

/// Numbers from one row of a table of scores to the next; a single score needs no padding.
template <class Scalar>
std::size_t stride_of(std::size_t scores) {
  return scores == 1 ? 1 : panel_stride<Scalar>(scores);
}

}  // namespace

ColumnQuadratic::ColumnQuadratic(std::span<const double> columns, std::size_t n,
                                 std::span<const std::int64_t> starts, std::span<const double> q,
                                 double square, std::size_t scores)
    : GroupQuadratic(starts, q, square, scores),
      columns_(columns),
      n_(n),
      image_(n * stride_of<double>(scores)),
      own_(starts.size() - 1),
      low_(q.size() / scores),
      size_(q.size() / scores),
      low_image_(n * stride_of<float>(scores)) {}

void ColumnQuadratic::begin() { std::ranges::fill(image_, 0.0); }

void ColumnQuadratic::look(Rows rows) {
  const std::size_t k = scores(), from = rows.first * k, size = rows.count * k;
  double* const out = slopes_.data() + from;
  if (k == 1) {
    dots_of_lines(column(rows.first), rows.count, n_, image_.data(), out);
  } else {
    dots_of_panel(column(rows.first), rows.count, n_, image_.data(), k, out);
  }
  for (std::size_t i = from; i < from + size; ++i) slopes_[i] += q()[i];
}

void ColumnQuadratic::look_everywhere() { look({0, low_.size()}); }

void ColumnQuadratic::move(Rows rows, std::span<const double> change) {
  const std::size_t k = scores();
  if (k == 1) {
    add_lines(column(rows.first), rows.count, n_, change.data(), image_.data());
    return;
  }
  const std::size_t stride = panel_stride<double>(k);
  padded_.assign(rows.count * stride, 0.0);
  for (std::size_t i = 0; i < rows.count; ++i) {
    std::copy_n(change.data() + i * k, k, padded_.data() + i * stride);
  }
  add_to_panel(column(rows.first), rows.count, n_, padded_.data(), k, image_.data());
}

OwnMatrix ColumnQuadratic::own(std::size_t group) {
  const Rows rows = rows_of(group);
  auto& known = own_[group];
  if (known.empty()) {
    known.resize(rows.count * rows.count);
    for (std::size_t i = 0; i < rows.count; ++i) {  // the lower half, and its mirror image
      dots_of_lines(column(rows.first), i + 1, n_, column(rows.first + i),
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
  for (std::size_t j = 0; j < units_.size(); ++j) {
    for (std::size_t i = j * k; i < (j + 1) * k; ++i) {
      scaled_[i] = d[i] * units_[j];
      most = std::max(most, std::fabs(scaled_[i]));
    }
  }
  if (!(most > 0.0)) most = 1.0;
  std::ranges::fill(low_image_, 0.0f);
  if (k == 1) {
    for (double& value : scaled_) value /= most;
    add_lines(chosen_.data(), chosen_.size(), n_, scaled_.data(), low_image_.data());
    dots_of_lines(chosen_.data(), chosen_.size(), n_, low_image_.data(), image.data());
  } else {
    const std::size_t stride = panel_stride<float>(k);
    low_padded_.assign(units_.size() * stride, 0.0f);
    for (std::size_t j = 0; j < units_.size(); ++j) {
      float* const to = low_padded_.data() + j * stride;
      for (std::size_t c = 0; c < k; ++c) to[c] = static_cast<float>(scaled_[j * k + c] / most);
    }
    const std::size_t count = chosen_.size();
    add_to_panel(chosen_.data(), count, n_, low_padded_.data(), k, low_image_.data());
    dots_of_panel(chosen_.data(), count, n_, low_image_.data(), k, image.data());
  }
  for (std::size_t j = 0; j < units_.size(); ++j) {
    for (std::size_t i = j * k; i < (j + 1) * k; ++i) image[i] *= most * units_[j];
  }
}

}  // namespace minimand
