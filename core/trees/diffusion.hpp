#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Messages on graphs with cycles, which lower the bound of the linear relaxation.
namespace minimand {

/// One graph: scores of labels at nodes and at edges, all finite.
struct GraphScores {
  std::size_t k;
  std::span<const double> unary;        // (nodes, k)
  std::span<const double> pair;         // (k, k) for all edges, or (edges, k, k)
  std::span<const std::int64_t> edges;  // (edges, 2), of different nodes

  std::size_t nodes() const { return unary.size() / k; }
  std::size_t links() const { return edges.size() / 2; }
  bool shared() const { return pair.size() == k * k; }
};

/// So many passes forth and back over the nodes, from the messages (2, edges, k) to the first and
/// the second ends of edges, which are changed. The bound
///
///     sum_v max(unary_v + messages into v) + sum_e max(pair_e - messages of e)
///
/// of all scores never rises: a node takes what its edges to earlier nodes have for it, and gives
/// shares of what it has to its edges to later ones (sequential tree-reweighted messages). The
/// labels are those that the last pass forth chose, node by node, given the labels before.
void diffuse_messages(const GraphScores& scores, std::size_t passes, std::span<double> messages,
                      std::span<std::int32_t> labels);

}  // namespace minimand
