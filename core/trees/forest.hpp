#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Dynamic programs on forests: every node takes one of k labels, nodes and edges have scores.
namespace minimand {

/// Nodes in an order in which parents come before their children.
struct Rooted {
  std::vector<std::int64_t> order;   // nodes; those of a group stay within the places of the group
  std::vector<std::int64_t> parent;  // -1 for a root
  std::vector<std::int64_t> link;    // the edge to the parent; -1 for a root
  std::vector<std::uint8_t> cyclic;  // of every group: whether its edges close a cycle
};

/// Roots every tree at its first node. Edges are pairs of nodes of one group; starts say where the
/// groups of nodes begin. In a group with a cycle an edge of the cycle is left out.
Rooted root_forest(std::span<const std::int64_t> edges, std::span<const std::int64_t> starts);

/// Scores of labellings: sum over nodes of unary, and over edges (u, v) of pair at their labels.
struct ForestScores {
  std::size_t k;
  std::span<const double> unary;        // (nodes, k)
  std::span<const double> pair;         // (k, k) for all edges, or (edges, k, k)
  std::span<const std::int64_t> edges;  // (edges, 2)
  std::span<const std::int64_t> starts;
  std::span<const std::int64_t> order, parent, link;

  bool shared() const { return pair.size() == k * k; }
  std::size_t nodes() const { return order.size(); }
};

/// The labelling of the largest score of every group; of equal ones the smallest labels.
void forest_best(const ForestScores& scores, std::span<std::int32_t> labels,
                 std::span<double> values);

/// What `forest_sums` fills; spans may be empty.
struct ForestMarginals {
  std::span<double> log_partition;  // one per group
  std::span<double> nodes;          // (nodes, k)
  std::span<double> edges;          // (edges, k, k), in the order of their ends
  std::span<const double> mass;     // one per group, for the next
  std::span<double> total;          // (k, k): the sum of mass times the marginals of edges
};

/// log of the sum of exp(score) over all labellings, and the marginals of its distribution.
void forest_sums(const ForestScores& scores, const ForestMarginals& out);

/// One labelling of every group drawn from that distribution; one uniform number per node.
void forest_samples(const ForestScores& scores, std::span<const double> uniform,
                    std::span<std::int32_t> labels);

}  // namespace minimand
