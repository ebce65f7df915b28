#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "common/targets.hpp"

// The order in which rows are visited.
namespace minimand {

/// A small generator of random numbers (xorshift64*).
struct Shuffler {
  std::uint64_t state;

  /// Consecutive seeds give unrelated sequences (splitmix64).
  MINIMAND_INLINE static Shuffler of(std::uint64_t seed) {
    seed = (seed + 1) * 0x9E3779B97F4A7C15ULL;
    seed = (seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    seed = (seed ^ (seed >> 27)) * 0x94D049BB133111EBULL;
    seed ^= seed >> 31;
    return {seed != 0 ? seed : 1};  // the generator would stay at zero
  }

  MINIMAND_INLINE std::uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1DULL;
  }
  /// A number below `limit`, which fits in 32 bits.
  MINIMAND_INLINE std::size_t below(std::size_t limit) {
    return static_cast<std::size_t>(((next() >> 32) * limit) >> 32);
  }
};

/// Rows of a block, which are adjacent in memory and visited together; safeguard.
inline constexpr std::size_t kRowsPerBlock = 16;

/// The order of a sweep: random, but in blocks of neighbouring rows. A random order makes ascent
/// converge faster; neighbours are cheaper to load, and a row that is loaded from a random place
/// costs as much as the work on it.
class VisitingOrder {
 public:
  /// `rows` are kept in place: those to be visited, ascending, before those to be skipped.
  VisitingOrder(std::span<std::uint32_t> rows, std::size_t count) : rows_(rows), count_(count) {
    visits_.reserve(rows.size());
    sort();
  }

  std::size_t count() const { return count_; }

  std::span<const std::uint32_t> shuffled(Shuffler& random) {
    const std::size_t offset = random.below(kRowsPerBlock);  // blocks differ from sweep to sweep
    blocks_.resize((count_ + offset + kRowsPerBlock - 1) / kRowsPerBlock);
    for (std::size_t k = 0; k < blocks_.size(); ++k) blocks_[k] = static_cast<std::uint32_t>(k);
    for (std::size_t k = blocks_.size(); k > 1; --k) {
      std::swap(blocks_[k - 1], blocks_[random.below(k)]);
    }
    visits_.clear();
    for (const std::size_t block : blocks_) {
      const std::size_t end = (block + 1) * kRowsPerBlock - offset;
      const std::size_t from = block == 0 ? 0 : end - kRowsPerBlock;
      for (std::size_t k = from; k < end && k < count_; ++k) visits_.push_back(rows_[k]);
    }
    return visits_;
  }

  /// From now on the rows for which skipped(row) holds are not visited.
  template <class Skipped>
  void keep(const Skipped& skipped) {
    const auto middle =
        std::stable_partition(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(count_),
                              [&](std::uint32_t row) { return !skipped(row); });
    count_ = static_cast<std::size_t>(middle - rows_.begin());
  }

  void visit_all() {
    count_ = rows_.size();
    sort();
  }

 private:
  void sort() {
    const auto end = rows_.begin() + static_cast<std::ptrdiff_t>(count_);
    if (!std::is_sorted(rows_.begin(), end)) std::sort(rows_.begin(), end);
  }

  std::span<std::uint32_t> rows_;
  std::size_t count_;
  std::vector<std::uint32_t> blocks_;
  std::vector<std::uint32_t> visits_;
};

}  // namespace minimand
