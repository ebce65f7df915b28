#include "groups/gram_quadratic.hpp"

#include <algorithm>

#include "common/lanes.hpp"
#include "groups/lines.hpp"
#include "groups/panels.hpp"

namespace minimand {
namespace {

MINIMAND_CLONES void add_rows(const GramView& gram, Rows rows, const double* change,
                              std::size_t scores, double* slopes) {
  const std::size_t n = gram.count;
  if (scores == 1) {
    double* __restrict to = slopes;
    std::size_t r = 0;
    for (; r + 4 <= rows.count; r += 4) {
      const double* const row0 = gram.row(rows.first + r);
      const double* const row1 = gram.row(rows.first + r + 1);
      const double* const row2 = gram.row(rows.first + r + 2);
      const double* const row3 = gram.row(rows.first + r + 3);
      const double v0 = change[r], v1 = change[r + 1], v2 = change[r + 2], v3 = change[r + 3];
      for (std::size_t k = 0; k < n; ++k) {
        to[k] += (v0 * row0[k] + v1 * row1[k]) + (v2 * row2[k] + v3 * row3[k]);
      }
    }
    for (; r < rows.count; ++r) {
      if (change[r] != 0.0) add_row(gram, rows.first + r, change[r], {slopes, n});
    }
    return;
  }
  for (std::size_t r = 0; r < rows.count; ++r) {
    const double* const row = gram.row(rows.first + r);
    const double* __restrict own = change + r * scores;
    for (std::size_t k = 0; k < n; ++k) {
      const double value = row[k];
      double* __restrict to = slopes + k * scores;
      for (std::size_t c = 0; c < scores; ++c) to[c] += value * own[c];
    }
  }
}

}  // namespace

void GramQuadratic::move(std::size_t first, std::size_t groups, std::span<const double> change) {
  add_rows(gram_, rows_of(first, groups), change.data(), scores(), slopes_.data());
}

OwnMatrix GramQuadratic::own(std::size_t group) {
  const std::size_t first = rows_of(group).first;
  return {gram_.row(first) + first, gram_.stride};
}

void GramQuadratic::choose(std::span<const Rows> parts) {
  size_ = 0;
  for (const Rows part : parts) size_ += part.count;
  chosen_.resize(size_ * size_);
  double* to = chosen_.data();
  for (const Rows part : parts) {
    for (std::size_t r = part.first; r < part.first + part.count; ++r) {
      const double* const from = gram_.row(r);
      for (const Rows other : parts) to = std::copy_n(from + other.first, other.count, to);
    }
  }
}

void GramQuadratic::multiply(std::span<const double> d, std::span<double> image) {
  const std::size_t k = scores();
  if (k > 1) {
    const std::size_t stride = panel_stride<double>(k);
    padded_.assign(size_ * stride, 0.0);
    for (std::size_t j = 0; j < size_; ++j) {
      std::copy_n(d.data() + j * k, k, padded_.data() + j * stride);
    }
    dots_of_panel(chosen_.data(), size_, size_, padded_.data(), k, image.data());
    return;
  }
  dots_of_lines(chosen_.data(), size_, size_, d.data(), image.data());
}

void GramQuadratic::choose_rays(std::span<const std::size_t> groups, std::span<const double> w) {
  const std::size_t size = slopes_.size(), many = groups.size(), k = scores();
  ray_slopes_.resize(many);
  along_.assign(many * size, 0.0);
  ray_matrix_.resize(many * many);
  for (std::size_t i = 0; i < many; ++i) {
    const Rows rows = rows_of(groups[i]);
    double* const own = along_.data() + i * size;
    const double* const values = w.data() + rows.first * k;
    ray_slopes_[i] = dot(slopes_.data() + rows.first * k, values, rows.count * k);
    add_rows(gram_, rows, values, k, own);
    for (std::size_t j = 0; j <= i; ++j) {
      const Rows others = rows_of(groups[j]);
      const std::size_t from = others.first * k;
      const double value = dot(own + from, w.data() + from, others.count * k);
      ray_matrix_[i * many + j] = ray_matrix_[j * many + i] = value;
    }
  }
}

void GramQuadratic::slopes_of_rays(std::span<double> slopes) {
  std::ranges::copy(ray_slopes_, slopes.begin());
}

void GramQuadratic::bends_of_rays(std::span<double> bends) {
  for (std::size_t i = 0; i < bends.size(); ++i) bends[i] = ray_matrix_[i * (bends.size() + 1)];
}

void GramQuadratic::multiply_rays(std::span<const double> x, std::span<double> image) {
  dots_of_lines(ray_matrix_.data(), x.size(), x.size(), x.data(), image.data());
}

void GramQuadratic::stretch(std::span<const double> x) {
  add_lines(along_.data(), x.size(), slopes_.size(), x.data(), slopes_.data());
}

}  // namespace minimand
