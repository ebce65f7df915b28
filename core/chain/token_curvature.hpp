#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chain/sparse_pass.hpp"

// The curvature of a likelihood of chains in some of its weights, as if every token stood between
// neighbours whose labels are known: the sum over tokens of
//   mass (sum_c p_c f_c f_c' - g g'),   g = sum_c p_c f_c,
// where f_c holds the features of a token in the places of the weights of label c.
namespace minimand {

/// The weights of interest: of every row of the table the label and the place of each.
struct ChosenWeights {
  std::span<const std::int64_t> starts;  // of the weights of every row of the table
  std::span<const std::int32_t> labels, places;
  std::span<const std::int32_t> transitions;  // (k, k): places, or -1
  std::size_t k, count;
};

/// The tokens that are visited, and what is known of them.
struct VisitedTokens {
  const SparseTokens& features;
  std::span<const std::int64_t> rows;
  std::span<const double> mass;                 // of every visited token
  std::span<const double> probabilities;        // (visited, k)
  std::span<const std::int64_t> before, after;  // labels of their neighbours, -1 for none
};

/// Adds the curvature to the lower triangle of a matrix, (count, count) by rows.
void add_token_curvature(const ChosenWeights& weights, const VisitedTokens& tokens,
                         std::span<double> matrix);

}  // namespace minimand
