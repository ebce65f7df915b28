#pragma once

#include <cstdint>
#include <span>

// Pairs (i, j) of rows of one run with level_i > level_j whose scores do not differ by a margin,
// z_i - z_j < margin: such a pair is active. Sums over them take O(n log n), not one step a pair.
namespace minimand {

/// Rows in runs: run q holds the rows units[q] to units[q + 1].
struct PairRows {
  std::span<const double> z;
  std::span<const std::int32_t> level;
  std::span<const std::int64_t> units;
  double margin;
};

/// The rows of run q, in their order.
inline std::span<const std::uint32_t> of_run(std::span<const std::uint32_t> order,
                                             std::span<const std::int64_t> units, std::size_t q) {
  const auto from = static_cast<std::size_t>(units[q]);
  return order.subspan(from, static_cast<std::size_t>(units[q + 1]) - from);
}

/// The rows of every run by decreasing score.
void order_pairs(std::span<const double> z, std::span<const std::int64_t> units,
                 std::span<std::uint32_t> order);

/// For every row: active pairs in which its level is the higher one, those in which it is the lower
/// one, and in both the sums of its values (n x m) minus those of its partners.
void sum_pairs(const PairRows& rows, std::span<const std::uint32_t> order,
               std::span<const double> values, std::span<double> above, std::span<double> below,
               std::span<double> differences);

}  // namespace minimand
