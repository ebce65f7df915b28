#include <algorithm>

#include "structures/graphs.hpp"
#include "structures/records.hpp"
#include "structures/tally.hpp"

namespace minimand {
namespace {

constexpr int kLabelBits = 20, kDistanceBits = 24;  // bits of a key; definition
static_assert(std::int64_t{1} << kLabelBits == kMostLabels);

/// A breadth-first search from every node of a graph.
struct Searches {
  const Graphs& graphs;
  std::vector<std::int64_t> queue;
  std::vector<std::int32_t> distance;  // of every node of the graph; -1: not reached
  Tally tally;

  explicit Searches(const Graphs& all) : graphs(all) {}

  template <class Leaves>
  void run(std::size_t graph, Records& records, const Leaves& leaves) {
    const std::int64_t from = graphs.starts[graph], to = graphs.starts[graph + 1];
    for (std::int64_t node = from; node < to; ++node) {
      if (leaves()) return;
      search(node, from, to);
    }
    tally.drain([&](std::uint64_t key, std::int64_t count) {
      constexpr std::uint64_t labels = (1u << kLabelBits) - 1,
                              distances = (1u << kDistanceBits) - 1;
      records.insert(records.end(), {static_cast<std::int64_t>(graph),
                                     static_cast<std::int64_t>(key >> (kLabelBits + kDistanceBits)),
                                     static_cast<std::int64_t>(key >> kDistanceBits & labels),
                                     static_cast<std::int64_t>(key & distances), count});
    });
  }

 private:
  /// Counts the pairs of the source with later nodes.
  void search(std::int64_t source, std::int64_t from, std::int64_t to) {
    distance.assign(static_cast<std::size_t>(to - from), -1);
    distance[static_cast<std::size_t>(source - from)] = 0;
    queue.assign(1, source);
    const auto own = static_cast<std::uint64_t>(label(source));
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::int64_t node = queue[head];
      const std::int32_t reached = distance[static_cast<std::size_t>(node - from)];
      if (node > source) {
        const auto other = static_cast<std::uint64_t>(label(node));
        tally.add((std::min(own, other) << kLabelBits | std::max(own, other)) << kDistanceBits |
                  static_cast<std::uint64_t>(reached));
      }
      for (const std::int64_t next : graphs.around(node)) {
        std::int32_t& there = distance[static_cast<std::size_t>(next - from)];
        if (there >= 0) continue;
        there = reached + 1;
        queue.push_back(next);
      }
    }
  }
  std::int32_t label(std::int64_t node) const {
    return graphs.labels[static_cast<std::size_t>(node)];
  }
};

}  // namespace

std::vector<std::int64_t> path_counts(const Graphs& graphs) {
  std::size_t work = 0;
  for (std::size_t g = 0; g < graphs.count(); ++g) {
    const auto nodes = static_cast<std::size_t>(graphs.starts[g + 1] - graphs.starts[g]);
    work += 4 * nodes * nodes;
  }
  return gather_records<Searches>(graphs, work);
}

}  // namespace minimand
