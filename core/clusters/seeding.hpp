#pragma once

#include "clusters/search.hpp"

namespace minimand {

/// Greedy k-means++ (Arthur and Vassilvitskii 2007): every next centre is the best of several rows
/// that are drawn with probabilities proportional to weight * cost, the cost of a row being that of
/// its nearest centre so far: the squared distance, or the distance under `gaps`.
///
/// `uniforms` holds numbers in [0, 1), `trials` for every centre but the first, which is given.
/// Writes the rows that were chosen. The result does not depend on the number of threads: sums are
/// taken over blocks of rows of fixed length. Throws `Stopped`.
template <class Matrix>
void seed_centers(const Matrix& matrix, const SearchSettings& settings, std::size_t first,
                  std::span<const double> uniforms, std::size_t trials,
                  std::span<std::int64_t> chosen);

}  // namespace minimand
