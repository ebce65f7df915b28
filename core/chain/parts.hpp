#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "common/watch.hpp"

namespace minimand {

inline constexpr std::size_t kWorkPerLook = 1 << 22;  // operations between two looks; safeguard

/// Sequences split over threads, in parts with nearly equal numbers of rows.
struct SequenceParts {
  std::span<const std::int64_t> offsets;
  std::size_t row_work;  // operations per row
  std::vector<std::size_t> splits;

  /// `copy` numbers are summed privately by every part.
  SequenceParts(std::span<const std::int64_t> begins, std::size_t work, std::size_t copy = 0)
      : offsets(begins), row_work(work) {
    const auto rows = static_cast<std::size_t>(offsets.back());
    splits = balanced_splits(offsets, part_count(offsets.size() - 1, rows * work, copy));
  }

  std::size_t count() const { return splits.size() - 1; }

  /// Calls f(s, part) for every sequence s, unless it is told to give up.
  template <class Function>
  void each(const Function& f) const {
    GiveUp stop;
    run_parts(splits, [&](Range range, std::size_t part) {
      std::size_t done = 0;
      for (std::size_t s = range.begin; s < range.end; ++s) {
        f(s, part);
        done += static_cast<std::size_t>(offsets[s + 1] - offsets[s]) * row_work;
        if (done < kWorkPerLook) continue;
        done = 0;
        if (stop.leaves(part)) return;
      }
    });
    stop.throw_if_left();
  }
};

}  // namespace minimand
