#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace minimand {

/// Counts by key, in an open table that doubles when it is half full.
class Tally {
 public:
  Tally() { grow(64); }

  void add(std::uint64_t key) {
    Slot& slot = find(key);
    if (slot.count++ == 0) {
      slot.key = key;
      if (2 * ++used_ > slots_.size()) grow(2 * slots_.size());
    }
  }
  /// Calls f(key, count) for each key, and forgets them all.
  template <class Function>
  void drain(const Function& f) {
    for (Slot& slot : slots_) {
      if (slot.count > 0) f(slot.key, slot.count);
      slot.count = 0;
    }
    used_ = 0;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::int64_t count = 0;
  };

  Slot& find(std::uint64_t key) {
    std::uint64_t mixed = key * 0x9e3779b97f4a7c15u;  // an odd number, so that keys stay apart
    std::size_t place = (mixed ^ (mixed >> 32)) & (slots_.size() - 1);
    while (slots_[place].count > 0 && slots_[place].key != key) {
      place = (place + 1) & (slots_.size() - 1);
    }
    return slots_[place];
  }
  void grow(std::size_t size) {
    std::vector<Slot> old(size);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.count > 0) find(slot.key) = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace minimand
