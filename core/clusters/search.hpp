#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/row_kernels.hpp"

// The nearest centre of every row, again and again while the centres move. Bounds of distances
// tell which rows, and which groups of centres, need not be looked at.
namespace minimand {

enum class Measure : std::int64_t { squares = 0, gaps = 1 };

/// What a search has to know besides the rows.
struct SearchSettings {
  Measure measure;
  std::size_t clusters;
  std::span<const double> weights;  // of rows, in sums
  std::span<const double> factors;  // of rows: f x is compared with centres; empty: 1
  std::span<const double> middle;   // subtracted from centres before products; see `pack`
  bool remember;                    // whether to keep bounds for a next call
};

/// What a call has done.
struct SearchPass {
  std::size_t moved;  // rows whose nearest centre is another one now
  double share;       // of all pairs of rows and centres, those that were compared
  bool complete;      // false: stopped, and some rows still have their last label
};

/// The labels of rows: the number of the nearest centre, the lowest of those at equal distance.
///
/// Results do not depend on the number of threads: the label of a row depends on that row alone,
/// and the rows of a cluster are added in their order.
class CenterSearch {
 public:
  virtual ~CenterSearch() = default;

  /// Labels for centres that lie one after the other; the first call compares all pairs.
  virtual SearchPass assign(std::span<const double> centers) = 0;
  /// Forgets the labels and the bounds.
  virtual void reset() = 0;
  /// Puts one row into another cluster.
  virtual void relabel(std::size_t row, std::int32_t cluster) = 0;
  /// The distances of all rows from their centres (under `squares` their squares), by differences.
  virtual void distances(std::span<double> out) const = 0;
  /// Sums of weight * factor * row, and of weights, by cluster.
  virtual void sums(std::span<double> sums, std::span<double> masses) = 0;

  std::span<const std::int32_t> labels() const { return labels_; }
  std::size_t rows() const { return labels_.size(); }
  std::size_t columns() const { return columns_; }
  std::size_t clusters() const { return settings_.clusters; }

 protected:
  CenterSearch(std::size_t rows, std::size_t columns, const SearchSettings& settings)
      : settings_(settings), columns_(columns), labels_(rows, -1) {}

  SearchSettings settings_;
  std::size_t columns_;
  std::vector<std::int32_t> labels_;
};

/// A search over the rows of a matrix, which must stay where they are.
template <class Matrix>
std::unique_ptr<CenterSearch> make_search(const Matrix& matrix, const SearchSettings& settings);

}  // namespace minimand
