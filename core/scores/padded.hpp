#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "common/lanes.hpp"

namespace minimand {

/// `width` rounded up to whole vectors.
MINIMAND_INLINE std::size_t padded(std::size_t width) {
  return (width + kLanes - 1) / kLanes * kLanes;
}

/// Rows of `width` numbers each, padded with zeros to whole vectors: kernels load no more than
/// that. Rows that are whole vectors already are not copied.
class PaddedRows {
 public:
  PaddedRows(std::span<const double> rows, std::size_t width) : stride_(padded(width)) {
    if (stride_ == width) {
      data_ = rows.data();
      return;
    }
    const std::size_t count = rows.size() / width;
    copy_.resize(count * stride_);
    for (std::size_t i = 0; i < count; ++i) {
      std::copy_n(rows.data() + i * width, width, copy_.data() + i * stride_);
    }
    data_ = copy_.data();
  }
  const double* data() const { return data_; }
  std::size_t stride() const { return stride_; }

 private:
  std::size_t stride_;
  std::vector<double> copy_;
  const double* data_;
};

/// Sums of padded rows, one set per thread, added up in the order of the parts. Where rows need no
/// padding, the first part sums directly into the result.
class PaddedSums {
 public:
  PaddedSums(std::span<double> result, std::size_t width, std::size_t parts)
      : result_(result), width_(width), stride_(padded(width)) {
    direct_ = stride_ == width_;
    size_ = result.size() / width_ * stride_;
    own_.resize(size_ * (parts - direct_));
    std::fill(result.begin(), result.end(), 0.0);
  }
  double* of(std::size_t part) {
    if (direct_) return part == 0 ? result_.data() : own_.data() + (part - 1) * size_;
    return own_.data() + part * size_;
  }
  void add_up() {
    for (std::size_t from = 0; from < own_.size(); from += size_) {
      const double* source = own_.data() + from;
      double* to = result_.data();
      for (std::size_t i = 0; i < size_; i += stride_, to += width_) {
        for (std::size_t c = 0; c < width_; ++c) to[c] += source[i + c];
      }
    }
  }

 private:
  std::span<double> result_;
  std::size_t width_, stride_, size_;
  bool direct_;
  std::vector<double> own_;
};

}  // namespace minimand
