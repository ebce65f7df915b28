#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dense/matrix.hpp"
#include "sparse/compressed.hpp"

namespace minimand {

/// Sequences of tokens, the rows of a matrix, with a label for every token. Their score is
///   z(c) = start_{c_1} + sum_t x_t W_{c_t} + sum_t transitions_{c_{t-1}, c_t} + stop_{c_l}.
/// All weights lie in one vector: W (d x k), transitions (k x k), start (k), stop (k).
struct LabelledChains {
  std::span<const std::int64_t> offsets;  // rows of sequence i: offsets[i] to offsets[i + 1]
  std::span<const std::int64_t> labels;
  std::span<const double> fixed;  // transitions, start, stop: 0, or -inf where forbidden
  std::span<const double> steps;  // of every sequence
  std::size_t k;
  bool ends;  // whether start and stop are learnt
};

/// The weights, and what has to be subtracted from them for their mean over all steps: every
/// change is added to `lag` times the number of steps that came before it.
struct AveragedWeights {
  std::span<double> now;
  std::span<double> lag;
  double count;  // steps so far
};

struct PerceptronReport {
  double count;
  std::int64_t visited;       // sequences
  std::int64_t wrong;         // sequences whose best labelling was not theirs
  std::int64_t wrong_tokens;  // their tokens with another label
  double radius;              // the largest |phi(x, y) - phi(x, c)|^2 of an update
};

/// One pass of the structured perceptron in the given order of sequences: where the best labelling
/// c under the current weights is not y, w += step (phi(x, y) - phi(x, c)).
template <class Matrix>
PerceptronReport perceptron_pass(const Matrix& matrix, const LabelledChains& chains,
                                 std::span<const std::uint32_t> order, AveragedWeights weights);

}  // namespace minimand
