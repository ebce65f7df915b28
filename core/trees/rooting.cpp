#include "trees/forest.hpp"

namespace minimand {
namespace {

/// The edges at every node, as lists one after the other.
struct Incident {
  std::vector<std::int64_t> starts, edge;

  Incident(std::span<const std::int64_t> edges, std::size_t nodes)
      : starts(nodes + 1, 0), edge(edges.size()) {
    for (const std::int64_t node : edges) ++starts[static_cast<std::size_t>(node) + 1];
    for (std::size_t v = 0; v < nodes; ++v) starts[v + 1] += starts[v];
    std::vector<std::int64_t> place(starts.begin(), starts.end() - 1);
    for (std::size_t end = 0; end < edges.size(); ++end) {
      const auto at = place[static_cast<std::size_t>(edges[end])]++;
      edge[static_cast<std::size_t>(at)] = static_cast<std::int64_t>(end / 2);
    }
  }
};

}  // namespace

Rooted root_forest(std::span<const std::int64_t> edges, std::span<const std::int64_t> starts) {
  const auto nodes = static_cast<std::size_t>(starts.back());
  const Incident incident(edges, nodes);
  Rooted found{{},
               std::vector<std::int64_t>(nodes, -1),
               std::vector<std::int64_t>(nodes, -1),
               std::vector<std::uint8_t>(starts.size() - 1, 0)};
  found.order.reserve(nodes);
  std::vector<std::uint8_t> seen(nodes, 0);
  for (std::size_t group = 0; group + 1 < starts.size(); ++group) {
    for (std::int64_t root = starts[group]; root < starts[group + 1]; ++root) {
      if (seen[static_cast<std::size_t>(root)]) continue;
      seen[static_cast<std::size_t>(root)] = 1;
      std::size_t next = found.order.size();
      found.order.push_back(root);
      for (; next < found.order.size(); ++next) {
        const auto v = static_cast<std::size_t>(found.order[next]);
        for (auto at = incident.starts[v]; at < incident.starts[v + 1]; ++at) {
          const std::int64_t e = incident.edge[static_cast<std::size_t>(at)];
          if (e == found.link[v]) continue;
          const auto first = edges[2 * static_cast<std::size_t>(e)];
          const auto second = edges[2 * static_cast<std::size_t>(e) + 1];
          const std::int64_t other = first == static_cast<std::int64_t>(v) ? second : first;
          const auto w = static_cast<std::size_t>(other);
          if (seen[w]) {
            found.cyclic[group] = 1;
            continue;
          }
          seen[w] = 1;
          found.parent[w] = static_cast<std::int64_t>(v);
          found.link[w] = e;
          found.order.push_back(other);
        }
      }
    }
  }
  return found;
}

}  // namespace minimand
