#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "dense/matrix.hpp"
#include "descent/gram_steps.hpp"

namespace minimand {

/// Curvatures h of the rows where a model was before, with their sum, and the means of the columns
/// under them (zero if there is no free constant). `first` is the Gram of the first columns,
/// centred by the means; the others have none yet.
struct OlderCurvature {
  std::span<const double> first;
  std::size_t count;  // of the first columns
  std::span<const double> h;
  std::span<const double> mean;
  double total;
};

/// The Gram of those columns that a path has needed, in the order in which they came.
class OlderGram {
 public:
  /// Begins with the first columns, unless columns have come already.
  void begin(const OlderCurvature& older);

  /// Adds columns that are not in it: their products with all columns are computed in one pass.
  template <class Scalar>
  void enter(const DenseMatrix<Scalar>& matrix, const OlderCurvature& older,
             std::span<const std::size_t> columns);

  /// To be called when the curvatures are others.
  void clear() { columns_.clear(); }

  bool has(std::size_t column) const { return column < known_.size() && known_[column] != 0; }
  std::span<const std::size_t> columns() const { return columns_; }
  GramView view() const { return {gram_, room_, columns_.size()}; }

 private:
  void reserve(std::size_t count);

  std::vector<std::size_t> columns_;
  std::vector<char> known_;  // by column of the matrix
  std::vector<double> gram_;
  std::size_t room_ = 0;
};

}  // namespace minimand
