#include "groups/column_quadratic.hpp"

#include <algorithm>
#include <cmath>

#include "common/lanes.hpp"
#include "groups/lines.hpp"
#include "groups/newton_vectors.hpp"
#include "groups/panels.hpp"
#include "scalar/functions.hpp"

namespace minimand {
namespace {

/// Numbers from one row of a table of scores to the next; a single score needs no padding.
template <class Scalar>
std::size_t stride_of(std::size_t scores) {
  return scores == 1 ? 1 : panel_stride<Scalar>(scores);
}

/// to = h (line - mean).
MINIMAND_CLONES void weigh_line(std::span<const double> h, std::span<const double> line,
                                double mean, std::span<double> to) {
  for (std::size_t p = 0; p < h.size(); ++p) {
    to.data()[p] = h.data()[p] * (line.data()[p] - mean);
  }
}

MINIMAND_CLONES void add_to_both(std::span<const double> change, std::span<double> one,
                                 std::span<double> other) {
  double* const __restrict a = one.data();
  double* const __restrict b = other.data();
  for (std::size_t p = 0; p < change.size(); ++p) {
    a[p] += change.data()[p];
    b[p] += change.data()[p];
  }
}

/// whole += other - one.
MINIMAND_CLONES void replace_part(std::span<const double> one, std::span<const double> other,
                                  std::span<double> whole) {
  double* const __restrict to = whole.data();
  for (std::size_t p = 0; p < whole.size(); ++p) to[p] += other.data()[p] - one.data()[p];
}

}  // namespace

ColumnQuadratic::ColumnQuadratic(std::span<const double> columns, std::size_t n,
                                 std::span<const std::int64_t> starts, std::size_t scores)
    : GroupQuadratic(starts, scores),
      columns_(columns),
      n_(n),
      image_(n * stride_of<double>(scores)),
      low_image_(n * stride_of<float>(scores)),
      ray_room_(image_.size()) {
  reserve();
}

void ColumnQuadratic::grow(std::span<const double> columns, std::span<const std::int64_t> starts) {
  columns_ = columns;
  GroupQuadratic::grow(starts);
  reserve();
}

/// Room for what is known of columns and groups.
void ColumnQuadratic::reserve() {
  low_.resize(columns_.size() / std::max<std::size_t>(n_, 1));
  size_.resize(low_.size());
  own_.resize(count());
  for (auto* parts : {&parts_, &before_parts_}) parts->resize(count());
  for (auto* flags : {&knows_, &knew_}) flags->resize(count());
}

void ColumnQuadratic::round(bool rounded) {
  if (scores() > 1 || rounded == rounded_) return;
  rounded_ = rounded;
  for (auto* flags : {&knows_, &knew_}) std::ranges::fill(*flags, 0);
  forget();
}

void ColumnQuadratic::weigh(RowWeights weights) {
  constexpr double kMost = 1.4;  // drift of the weights, up to which matrices are kept; safeguard
  double total = 0.0;
  for (const double h : weights.h) total += h;
  const double factor = total_ > 0.0 ? total / total_ : 0.0;
  drift_ *= factor;
  const bool keeps = drift_ < kMost && drift_ * kMost > 1.0;
  for (std::size_t g = 0; g < own_.size(); ++g) {
    if (keeps) {
      for (double& value : own_[g]) value *= factor;
      if (steep_[g] > 0.0) steep_[g] *= factor;
    } else {
      own_[g].clear();
      steep_[g] = -1.0;
    }
  }
  if (!keeps) drift_ = 1.0;
  weights_ = weights;
  total_ = total;
  weighted_.resize(weights.h.empty() ? 0 : image_.size());
  fresh_ = false;
  forget();
}

/// H times a table of scores, whose means are subtracted before if products are centred.
void ColumnQuadratic::weigh_table(std::span<const double> table, std::span<double> to) const {
  const std::size_t stride = table.size() / std::max<std::size_t>(n_, 1);
  const auto centred = weights_.centred && total_ > 0.0;
  if (stride == 1) {
    const double mean = centred ? inner_product(weights_.h, table) / total_ : 0.0;
    weigh_line(weights_.h, table, mean, to);
    return;
  }
  for (std::size_t c = 0; c < stride; ++c) {
    double mean = 0.0;
    for (std::size_t p = 0; centred && p < n_; ++p) mean += weights_.h[p] * table[p * stride + c];
    if (centred) mean /= total_;
    for (std::size_t p = 0; p < n_; ++p) {
      to[p * stride + c] = weights_.h[p] * (table[p * stride + c] - mean);
    }
  }
}

/// The same in single precision, for H divided by the sum of the weights.
void ColumnQuadratic::weigh_low() {
  const std::size_t stride = low_image_.size() / std::max<std::size_t>(n_, 1);
  for (std::size_t c = 0; c < stride; ++c) {
    double mean = 0.0;
    for (std::size_t p = 0; weights_.centred && p < n_; ++p) {
      mean += weights_.h[p] / total_ * static_cast<double>(low_image_[p * stride + c]);
    }
    for (std::size_t p = 0; p < n_; ++p) {
      float& value = low_image_[p * stride + c];
      value = static_cast<float>(weights_.h[p] / total_ * (static_cast<double>(value) - mean));
    }
  }
}

/// H times the scores, centred if the products are.
std::span<const double> ColumnQuadratic::weighted() {
  if (weights_.h.empty()) return image_;
  if (!fresh_) weigh_table(image_, weighted_);
  fresh_ = true;
  return weighted_;
}

void ColumnQuadratic::begin() {
  std::ranges::fill(image_, 0.0);
  std::ranges::fill(knows_, 0);
  fresh_ = false;
}

void ColumnQuadratic::remember() {
  before_ = image_;
  slopes_before_ = slopes_;
  parts_.swap(before_parts_);
  knows_.swap(knew_);
}

void ColumnQuadratic::draw_on(double ahead) {
  minimand::draw_on(image_, before_, ahead);
  minimand::draw_on(slopes_, slopes_before_, ahead);
  fresh_ = false;
  for (std::size_t g = 0; g < count(); ++g) {
    if (knows_[g] && knew_[g]) {
      minimand::draw_on(parts_[g], before_parts_[g], ahead);
      continue;
    }
    parts_[g].swap(before_parts_[g]);
    std::swap(knows_[g], knew_[g]);
    knows_[g] = 0;
  }
}

void ColumnQuadratic::look_back(Rows rows) {
  slopes_before_.resize(slopes_.size());
  before_.resize(image_.size());
  for (int place = 0; place < 2; ++place) {
    image_.swap(before_);
    slopes_.swap(slopes_before_);
    fresh_ = false;
    look(rows);
  }
}

void ColumnQuadratic::recall(std::size_t group) {
  if (!knew_[group]) return;
  parts_[group].swap(before_parts_[group]);
  std::swap(knows_[group], knew_[group]);
}

void ColumnQuadratic::look(Rows rows) {
  const std::size_t k = scores(), from = rows.first * k, size = rows.count * k;
  double* const out = slopes_.data() + from;
  if (rounded_) {
    lower(rows);
    dots_of_lines(low_.data() + rows.first, rows.count, n_, weighted().data(), out);
    for (std::size_t i = 0; i < rows.count; ++i) out[i] *= size_[rows.first + i];
  } else if (k == 1) {
    dots_of_lines(column(rows.first), rows.count, n_, weighted().data(), out);
  } else {
    dots_of_panel(column(rows.first), rows.count, n_, weighted().data(), k, out);
  }
  for (std::size_t i = from; i < from + size; ++i) slopes_[i] += q()[i];
}

void ColumnQuadratic::look_everywhere() { look({0, low_.size()}); }

void ColumnQuadratic::move(std::size_t first, std::size_t groups, std::span<const double> change) {
  const double* from = change.data();
  fresh_ = false;
  for (std::size_t g = first; g < first + groups; ++g) {
    if (!knows_[g]) {
      const std::size_t end = g + 1;
      while (g + 1 < first + groups && !knows_[g + 1]) ++g;  // those move at once
      const Rows rows = rows_of(end - 1, g + 2 - end);
      add(rows, from, image_.data());
      from += rows.count * scores();
      continue;
    }
    const Rows rows = rows_of(g);
    std::ranges::fill(ray_room_, 0.0);
    add(rows, from, ray_room_.data());
    add_to_both(ray_room_, image_, parts_[g]);
    from += rows.count * scores();
  }
}

/// Scores of groups that are known are made anew, and take the others to their place.
void ColumnQuadratic::move_ray(std::size_t group, std::span<const double> change,
                               std::span<const double> own) {
  if (!knows_[group]) {
    move(group, 1, change);
    meet_ray(group, own);
    return;
  }
  fresh_ = false;
  std::ranges::fill(ray_room_, 0.0);
  add(rows_of(group), own.data(), ray_room_.data());
  replace_part(parts_[group], ray_room_, image_);
  parts_[group].swap(ray_room_);
}

void ColumnQuadratic::meet_ray(std::size_t group, std::span<const double> own) {
  if (knows_[group]) return;
  parts_[group].assign(image_.size(), 0.0);
  add(rows_of(group), own.data(), parts_[group].data());
  knows_[group] = 1;
}

/// table += the columns times the change.
void ColumnQuadratic::add(Rows rows, const double* change, double* table) {
  const std::size_t k = scores();
  if (rounded_) {
    lower(rows);
    padded_.assign(change, change + rows.count);
    for (std::size_t i = 0; i < rows.count; ++i) padded_[i] *= size_[rows.first + i];
    add_lines(low_.data() + rows.first, rows.count, n_, padded_.data(), table);
    return;
  }
  if (k == 1) {
    add_lines(column(rows.first), rows.count, n_, change, table);
    return;
  }
  const std::size_t stride = panel_stride<double>(k);
  padded_.assign(rows.count * stride, 0.0);
  for (std::size_t i = 0; i < rows.count; ++i) {
    std::copy_n(change + i * k, k, padded_.data() + i * stride);
  }
  add_to_panel(column(rows.first), rows.count, n_, padded_.data(), k, table);
}

void ColumnQuadratic::choose_rays(std::span<const std::size_t> groups, std::span<const double> w) {
  rays_.clear();
  ray_linear_.clear();
  for (const std::size_t g : groups) {
    const Rows rows = rows_of(g);
    const std::size_t from = rows.first * scores(), size = rows.count * scores();
    meet_ray(g, w.subspan(from, size));
    rays_.push_back(parts_[g].data());
    ray_linear_.push_back(dot(q().data() + from, w.data() + from, size));
  }
}

void ColumnQuadratic::slopes_of_rays(std::span<double> slopes) {
  dots_of_lines(rays_.data(), rays_.size(), image_.size(), weighted().data(), slopes.data());
  for (std::size_t i = 0; i < slopes.size(); ++i) slopes[i] += ray_linear_[i];
}

void ColumnQuadratic::bends_of_rays(std::span<double> bends) {
  for (std::size_t i = 0; i < bends.size(); ++i) {
    const std::span<const double> ray(rays_[i], image_.size());
    if (!weights_.h.empty()) weigh_table(ray, ray_room_);
    bends[i] = inner_product(ray, weights_.h.empty() ? ray : std::span<const double>(ray_room_));
  }
}

void ColumnQuadratic::multiply_rays(std::span<const double> x, std::span<double> image) {
  std::ranges::fill(ray_room_, 0.0);
  add_lines(rays_.data(), x.size(), image_.size(), x.data(), ray_room_.data());
  if (!weights_.h.empty()) weigh_table(ray_room_, ray_room_);
  dots_of_lines(rays_.data(), x.size(), image_.size(), ray_room_.data(), image.data());
}

void ColumnQuadratic::stretch(std::span<const double> x) {
  add_lines(rays_.data(), x.size(), image_.size(), x.data(), image_.data());
  fresh_ = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t p = 0; p < image_.size(); ++p) rays_[i][p] *= 1.0 + x[i];
  }
}

OwnMatrix ColumnQuadratic::own(std::size_t group) {
  const Rows rows = rows_of(group);
  auto& known = own_[group];
  if (known.empty()) {
    known.resize(rows.count * rows.count);
    for (std::size_t i = 0; i < rows.count; ++i) {  // the lower half, and its mirror image
      std::span<const double> line(column(rows.first + i), n_);
      if (!weights_.h.empty()) {
        own_room_.resize(n_);
        weigh_table(line, own_room_);
        line = own_room_;
      }
      dots_of_lines(column(rows.first), i + 1, n_, line.data(), known.data() + i * rows.count);
      for (std::size_t j = 0; j < i; ++j) known[j * rows.count + i] = known[i * rows.count + j];
    }
  }
  return {known.data(), rows.count};
}

void ColumnQuadratic::choose(std::span<const Rows> parts) {
  chosen_.clear();
  units_.clear();
  for (const Rows part : parts) {
    lower(part);
    for (std::size_t r = part.first; r < part.first + part.count; ++r) {
      chosen_.push_back(low_[r]);
      units_.push_back(size_[r]);
    }
  }
}

/// Makes the columns of single precision that are missing.
void ColumnQuadratic::lower(Rows rows) {
  std::size_t first = rows.first;
  const std::size_t end = rows.first + rows.count;
  while (first < end && low_[first] != nullptr) ++first;
  if (first == end) return;
  pool_.push_back(std::make_unique_for_overwrite<float[]>((end - first) * n_));
  float* to = pool_.back().get();
  for (std::size_t row = first; row < end; ++row, to += n_) {
    if (low_[row] != nullptr) continue;
    const double* const from = column(row);
    double most = 0.0;
    for (std::size_t i = 0; i < n_; ++i) most = std::max(most, std::fabs(from[i]));
    size_[row] = most > 0.0 ? most : 1.0;
    for (std::size_t i = 0; i < n_; ++i) to[i] = static_cast<float>(from[i] / size_[row]);
    low_[row] = to;
  }
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
    if (total_ > 0.0) weigh_low();
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
    if (total_ > 0.0) weigh_low();
    dots_of_panel(chosen_.data(), count, n_, low_image_.data(), k, image.data());
  }
  if (total_ > 0.0) most *= total_;
  for (std::size_t j = 0; j < units_.size(); ++j) {
    for (std::size_t i = j * k; i < (j + 1) * k; ++i) image[i] *= most * units_[j];
  }
}

}  // namespace minimand
