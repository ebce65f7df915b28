#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Patterns of labelled undirected graphs, counted: pairs of nodes at a distance, and small
// connected subgraphs.
namespace minimand {

/// Graphs one after another: graph g holds nodes starts[g] to starts[g + 1]. Every edge is listed
/// at both of its ends.
struct Graphs {
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> labels;           // of every node
  std::span<const std::int64_t> neighbor_starts;  // of every node, and the end
  std::span<const std::int64_t> neighbors;        // nodes

  std::size_t count() const { return starts.size() - 1; }
  std::size_t degree(std::int64_t node) const {
    const auto at = static_cast<std::size_t>(node);
    return static_cast<std::size_t>(neighbor_starts[at + 1] - neighbor_starts[at]);
  }
  std::span<const std::int64_t> around(std::int64_t node) const {
    const auto at = static_cast<std::size_t>(node);
    return neighbors.subspan(static_cast<std::size_t>(neighbor_starts[at]), degree(node));
  }
};

/// Labels that fit the keys of `path_counts`.
inline constexpr std::int64_t kMostLabels = std::int64_t{1} << 20;  // definition

/// The largest subgraphs that are counted; those of `size` nodes have size! numberings to compare.
inline constexpr std::size_t kLargestSubgraph = 5;  // convention

/// Records (graph, smaller label, larger label, distance, number of pairs of nodes), one per kind
/// of pair and graph. Pairs without a path between them are not counted.
std::vector<std::int64_t> path_counts(const Graphs& graphs);

/// Records (graph, labels of `size` nodes, edges, number of subgraphs), one per kind of induced
/// connected subgraph and graph. Nodes are numbered so that labels, then edges are least; bit p of
/// edges is pair p of (0,1), (0,2), (1,2), (0,3), ...
std::vector<std::int64_t> subgraph_counts(const Graphs& graphs, std::size_t size);

}  // namespace minimand
