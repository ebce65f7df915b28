#include "structures/keys.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace minimand {

Numbering::Numbering(std::size_t expected) {
  std::size_t size = 64;
  while (size < 2 * expected) size *= 2;
  slots_.resize(size);
}

void Numbering::grow(std::size_t size) {
  std::vector<Slot> old(size);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.number >= 0) find(slot.key) = slot;
  }
}

namespace {

/// Sorts the entries of the last row by number.
void sort_row(KeyCounts& found, std::size_t from,
              std::vector<std::pair<std::int32_t, double>>& entries) {
  if (std::is_sorted(found.numbers.begin() + static_cast<std::ptrdiff_t>(from),
                     found.numbers.end())) {
    return;
  }
  entries.clear();
  for (std::size_t k = from; k < found.numbers.size(); ++k) {
    entries.emplace_back(found.numbers[k], found.counts[k]);
  }
  std::sort(entries.begin(), entries.end());
  for (std::size_t k = 0; k < entries.size(); ++k) {
    std::tie(found.numbers[from + k], found.counts[from + k]) = entries[k];
  }
}

}  // namespace

KeyCounts count_keys(std::span<const std::uint64_t> keys, std::span<const std::int64_t> starts,
                     std::span<const double> times, bool only_known,
                     std::span<const std::uint64_t> known) {
  Numbering numbering(known.size());
  for (const std::uint64_t key : known) numbering.number(key);
  KeyCounts found;
  found.starts.assign(1, 0);
  std::vector<std::int64_t> place(known.size(), -1);  // of every key among the entries
  std::vector<std::pair<std::int32_t, double>> entries;
  for (std::size_t g = 0; g + 1 < starts.size(); ++g) {
    const std::int64_t from = found.starts.back();
    for (auto k = static_cast<std::size_t>(starts[g]); k < static_cast<std::size_t>(starts[g + 1]);
         ++k) {
      const std::int32_t number = only_known ? numbering.known(keys[k]) : numbering.number(keys[k]);
      if (number < 0) continue;
      if (static_cast<std::size_t>(number) == place.size()) {
        place.push_back(-1);
        found.first.push_back(static_cast<std::int64_t>(k));
      }
      std::int64_t& entry = place[static_cast<std::size_t>(number)];
      if (entry < from) {  // not in this row yet
        entry = static_cast<std::int64_t>(found.numbers.size());
        found.numbers.push_back(number);
        found.counts.push_back(0.0);
      }
      found.counts[static_cast<std::size_t>(entry)] += times.empty() ? 1.0 : times[k];
    }
    sort_row(found, static_cast<std::size_t>(from), entries);
    found.starts.push_back(static_cast<std::int64_t>(found.numbers.size()));
  }
  return found;
}

}  // namespace minimand
