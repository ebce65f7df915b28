#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Parts of structures have 64-bit keys, which are hashes of what they consist of. Here keys get
// numbers, in the order in which they come.
namespace minimand {

/// A permutation of the 64-bit integers without any pattern (the finaliser of SplitMix64).
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Keys of pairs. The factor keeps the first entry apart from the second, which may be a sum of
/// keys.
inline std::uint64_t joined(std::uint64_t first, std::uint64_t second) {
  return mixed(first * 0xbf58476d1ce4e5b9u + second);
}

/// Numbers 0, 1, ... for keys.
class Numbering {
 public:
  explicit Numbering(std::size_t expected = 0);

  /// The number of a key, which is new if it has none yet.
  std::int32_t number(std::uint64_t key) {
    Slot& slot = find(key);
    if (slot.number >= 0) return slot.number;
    slot = {key, used_};
    const std::int32_t given = used_++;
    if (2 * static_cast<std::size_t>(used_) > slots_.size()) grow(2 * slots_.size());
    return given;
  }
  /// The number of a key; -1 if it has none.
  std::int32_t known(std::uint64_t key) { return find(key).number; }
  std::int32_t size() const { return used_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int32_t number = -1;
  };

  Slot& find(std::uint64_t key) {
    const std::uint64_t mixed = key * 0x9e3779b97f4a7c15u;  // an odd number: keys stay apart
    std::size_t place = (mixed >> 32) & (slots_.size() - 1);
    while (slots_[place].number >= 0 && slots_[place].key != key) {
      place = (place + 1) & (slots_.size() - 1);
    }
    return slots_[place];
  }
  void grow(std::size_t size);

  std::vector<Slot> slots_;
  std::int32_t used_ = 0;
};

/// A matrix by rows: how often each numbered key occurs in each group.
struct KeyCounts {
  std::vector<std::int64_t> starts;
  std::vector<std::int32_t> numbers;  // rising within a row
  std::vector<double> counts;
  std::vector<std::int64_t> first;  // where each key came first
};

/// Counts the keys of each group: group g holds keys starts[g] to starts[g + 1]. A key counts once,
/// or as often as `times` says. If there are `known` keys, others are left out.
KeyCounts count_keys(std::span<const std::uint64_t> keys, std::span<const std::int64_t> starts,
                     std::span<const double> times, bool only_known,
                     std::span<const std::uint64_t> known);

}  // namespace minimand
