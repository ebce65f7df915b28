#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// The subset-tree kernel: over all pairs of nodes of two trees, the number of tree fragments that
// grow from both, each weighed by decay^(number of its productions).
namespace minimand {

/// Trees without their leaves. Nodes stand children first: tree t holds nodes starts[t] to
/// starts[t + 1].
struct Trees {
  std::span<const std::int64_t> starts;
  std::span<const std::int32_t> production;    // of every node; -1: one that the other trees lack
  std::span<const std::int64_t> child_starts;  // of every node, and the end
  std::span<const std::int64_t> children;      // nodes; -1: a leaf
  std::size_t productions;                     // they are numbered below this

  std::size_t count() const { return starts.size() - 1; }
};

/// `gram` (left x right, row by row). If `same`, right is left, and each pair is computed once.
void subset_tree_gram(const Trees& left, const Trees& right, bool same, double decay,
                      std::span<double> gram);

/// The kernel of every tree with itself.
void subset_tree_diagonal(const Trees& trees, double decay, std::span<double> diagonal);

}  // namespace minimand
