#include "kernel/levels.hpp"

namespace minimand {
namespace {

constexpr double kCrossing =
    1e-12;  // of the sum of weights: a slope that counts as zero; safeguard

}  // namespace

void BlockJudge::find_levels(const Block<double>& block, bool balanced) {
  for (std::size_t g = 0; g < 2; ++g) {
    levels_[g] = balanced ? level_of(block, {block.begin[g], block.begin[g + 1]}) : 0.0;
  }
}

/// Where the slope of the losses plus the level times the sum of a crosses zero: the middle of all
/// such levels.
double BlockJudge::level_of(const Block<double>& block, Range positions) {
  crossings_.clear();
  double wanted = 0.0, total = 0.0;
  for (std::size_t k = positions.begin; k < positions.end; ++k) {
    wanted += block.high[k] - block.a[k];
    total += block.high[k] - block.low[k];
    if (block.high[k] > 0.0) crossings_.push_back({block.above[k] - block.f[k], block.high[k]});
    if (block.low[k] < 0.0) crossings_.push_back({block.below[k] - block.f[k], -block.low[k]});
  }
  if (crossings_.empty()) return 0.0;
  std::sort(crossings_.begin(), crossings_.end(),
            [](const Crossing& p, const Crossing& q) { return p.point < q.point; });
  const double slack = kCrossing * total;
  if (wanted <= slack) return crossings_.front().point;  // the losses never fall
  double passed = 0.0, low = 0.0;
  bool reached = false;
  for (const Crossing& crossing : crossings_) {
    passed += crossing.weight;
    if (!reached && passed >= wanted - slack) {
      low = crossing.point;
      reached = true;
    }
    if (passed > wanted + slack) return 0.5 * (low + crossing.point);
  }
  return reached ? low : crossings_.back().point;
}

double BlockJudge::gap(const Block<double>& block, bool scaled) const {
  double sum = 0.0;
  for (std::size_t g = 0; g < 2; ++g) {
    for (std::size_t k = block.begin[g]; k < block.begin[g + 1]; ++k) {
      const double z = block.f[k] + levels_[g], a = block.a[k];
      const double rising = block.high[k] * (block.above[k] - z);
      const double falling = block.low[k] * (block.below[k] - z);
      const double loss = std::max(std::max(rising, falling), 0.0);
      sum += std::max(loss - a * ((a > 0.0 ? block.above[k] : block.below[k]) - z), 0.0);
    }
  }
  if (!scaled) return sum;
  const double square = std::max(dot(block.a.data(), block.f.data(), block.size), 0.0);
  return sum < square ? sum * (1.0 - 0.5 * sum / square) : 0.5 * square;
}

}  // namespace minimand
