#pragma once

#include <cstdint>
#include <vector>

#include "structures/graphs.hpp"
#include "structures/tasks.hpp"

namespace minimand {

using Records = std::vector<std::int64_t>;

/// The records of all graphs: every thread has a counter, Counter(graphs, options...), whose
/// run(graph, records, leaves) adds those of one graph. Graphs come in any order.
template <class Counter, class... Options>
Records gather_records(const Graphs& graphs, std::size_t work, Options... options) {
  const std::size_t parts = part_count(graphs.count(), work);
  std::vector<Counter> counters(parts, Counter(graphs, options...));
  std::vector<Records> records(parts);
  share_tasks(graphs.count(), parts, [&](std::size_t g, std::size_t part, const auto& leaves) {
    counters[part].run(g, records[part], leaves);
  });
  for (std::size_t part = 1; part < parts; ++part) {
    records[0].insert(records[0].end(), records[part].begin(), records[part].end());
  }
  return std::move(records[0]);
}

}  // namespace minimand
