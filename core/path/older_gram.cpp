#include "path/older_gram.hpp"

#include <algorithm>
#include <numeric>

#include "dense/products.hpp"

namespace minimand {

void OlderGram::begin(const OlderCurvature& older) {
  if (!columns_.empty()) return;
  const std::size_t count = older.count;
  reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::copy_n(older.first.data() + i * count, count, gram_.data() + i * room_);
  }
  columns_.resize(count);
  std::iota(columns_.begin(), columns_.end(), std::size_t{0});
  known_.assign(count, 1);
}

template <class Scalar>
void OlderGram::enter(const DenseMatrix<Scalar>& matrix, const OlderCurvature& older,
                      std::span<const std::size_t> columns) {
  const std::size_t n = matrix.rows(), m = matrix.columns(), width = columns.size();
  // Centring one factor is enough: the other one's mean times the sum of h (x - mean) vanishes.
  std::vector<double> weighted(n * width), products(m * width);
  for (std::size_t c = 0; c < width; ++c) {
    const auto line = matrix.line(columns[c]);
    const double mean = older.mean[columns[c]];
    for (std::size_t i = 0; i < n; ++i) {
      weighted[i * width + c] = older.h[i] * (static_cast<double>(line[i]) - mean);
    }
  }
  dense_rmatvec(matrix, weighted, width, products);
  known_.resize(m);
  reserve(columns_.size() + width);
  for (std::size_t c = 0; c < width; ++c) {
    columns_.push_back(columns[c]);
    known_[columns[c]] = 1;
    const std::size_t place = columns_.size() - 1;
    for (std::size_t k = 0; k <= place; ++k) {
      const double product = products[columns_[k] * width + c];
      gram_[place * room_ + k] = product;
      gram_[k * room_ + place] = product;
    }
  }
}

void OlderGram::reserve(std::size_t count) {
  if (count <= room_) return;
  const std::size_t room = count + count / 4 + 16;  // so that it grows seldom
  std::vector<double> larger(room * room);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::copy_n(gram_.data() + i * room_, columns_.size(), larger.data() + i * room);
  }
  gram_ = std::move(larger);
  room_ = room;
}

template void OlderGram::enter(const DenseMatrix<float>&, const OlderCurvature&,
                               std::span<const std::size_t>);
template void OlderGram::enter(const DenseMatrix<double>&, const OlderCurvature&,
                               std::span<const std::size_t>);

}  // namespace minimand
