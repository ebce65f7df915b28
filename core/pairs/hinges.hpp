#pragma once

#include <cstdint>
#include <span>

#include "pairs/sums.hpp"

namespace minimand {

/// Sums over the active pairs of every run, h = margin - (z_i - z_j); divided by all pairs of the
/// run with different levels, of which at least one is counted.
struct PairHinges {
  std::span<double> square;   // of every run: sum of h^2 / 2
  std::span<double> linear;   // of every run: sum of h
  std::span<double> slope;    // of every row: the derivative of square
  std::span<double> balance;  // of every row: the derivative of linear
  std::span<double> degrees;  // of every row: its active pairs, not divided
};

/// All sums in one sweep up and one down the sorted scores.
void hinge_pairs(const PairRows& rows, std::span<const std::uint32_t> order,
                 const PairHinges& found);

}  // namespace minimand
