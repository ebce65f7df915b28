#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "scores/vectors.hpp"

namespace minimand {

/// `width` rounded up to whole vectors.
template <class T = double>
MINIMAND_INLINE std::size_t padded(std::size_t width) {
  return (width + kFull<T> - 1) / kFull<T> * kFull<T>;
}

/// Rows of `width` numbers each, padded with zeros to whole vectors: kernels load no more than
/// that. Rows that are whole vectors already are not copied.
template <class T>
class PaddedRows {
 public:
  PaddedRows(std::span<const double> rows, std::size_t width) : stride_(padded<T>(width)) {
    if constexpr (std::is_same_v<T, double>) {
      if (stride_ == width) {
        data_ = rows.data();
        return;
      }
    }
    const std::size_t count = rows.size() / width;
    copy_.resize(count * stride_);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < width; ++c) {
        copy_[i * stride_ + c] = static_cast<T>(rows[i * width + c]);
      }
    }
    data_ = copy_.data();
  }
  const T* data() const { return data_; }
  std::size_t stride() const { return stride_; }

 private:
  std::size_t stride_;
  std::vector<T> copy_;
  const T* data_;
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
  void settle(std::size_t, std::size_t) {}
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

/// The same in single precision. `settle(part, count)` says that a part has added so many rows
/// of tables; after some, its sums are moved to double precision, so that rounding does not grow.
class SettledSums {
 public:
  SettledSums(std::span<double> result, std::size_t width, std::size_t parts)
      : width_(width),
        stride_(padded<float>(width)),
        size_(result.size() / width * stride_),
        own_(size_ * parts),
        added_(parts),
        result_(result),
        totals_(size_ * parts) {}
  float* of(std::size_t part) { return own_.data() + part * size_; }
  void settle(std::size_t part, std::size_t count) {
    added_[part] += count;
    if (added_[part] * stride_ >= kPerRow * size_) move(part);
  }
  void add_up() {
    std::fill(result_.begin(), result_.end(), 0.0);
    for (std::size_t part = 0; part < added_.size(); ++part) {
      move(part);
      const double* source = totals_.data() + part * size_;
      double* to = result_.data();
      for (std::size_t i = 0; i < size_; i += stride_, to += width_) {
        for (std::size_t c = 0; c < width_; ++c) to[c] += source[i + c];
      }
    }
  }

 private:
  static constexpr std::size_t kPerRow = 32;  // sums of a row of the table, about; safeguard

  void move(std::size_t part) {
    float* const from = of(part);
    double* const to = totals_.data() + part * size_;
    for (std::size_t i = 0; i < size_; ++i) {
      to[i] += static_cast<double>(from[i]);
      from[i] = 0.0F;
    }
    added_[part] = 0;
  }

  std::size_t width_, stride_, size_;
  std::vector<float> own_;
  std::vector<std::size_t> added_;
  std::span<double> result_;
  std::vector<double> totals_;
};

template <class T>
using TableSums = std::conditional_t<std::is_same_v<T, float>, SettledSums, PaddedSums>;

}  // namespace minimand
