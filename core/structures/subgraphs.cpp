#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "structures/graphs.hpp"
#include "structures/records.hpp"

namespace minimand {
namespace {

/// A subgraph whose nodes are numbered: labels, then edges, as in `subgraph_counts`.
struct Pattern {
  std::array<std::int32_t, kLargestSubgraph> labels{};
  std::uint32_t edges = 0;
  auto operator<=>(const Pattern&) const = default;
};

struct Mixed {
  std::size_t operator()(const Pattern& pattern) const {
    std::uint64_t mixed = pattern.edges;
    for (const std::int32_t label : pattern.labels) {
      mixed = (mixed ^ static_cast<std::uint32_t>(label)) * 0x9e3779b97f4a7c15u;
      mixed ^= mixed >> 32;
    }
    return mixed;
  }
};

constexpr std::uint32_t edge_bit(std::size_t i, std::size_t j) {
  const std::size_t low = std::min(i, j), high = std::max(i, j);
  return 1u << (high * (high - 1) / 2 + low);
}

/// The least of all numberings of a pattern.
Pattern least(const Pattern& pattern, std::size_t size) {
  std::array<std::size_t, kLargestSubgraph> order{0, 1, 2, 3, 4};
  Pattern best = pattern;
  do {
    Pattern renumbered;
    for (std::size_t i = 0; i < size; ++i) renumbered.labels[i] = pattern.labels[order[i]];
    for (std::size_t j = 1; j < size; ++j) {
      for (std::size_t i = 0; i < j; ++i) {
        if (pattern.edges & edge_bit(order[i], order[j])) renumbered.edges |= edge_bit(i, j);
      }
    }
    best = std::min(best, renumbered);
  } while (std::next_permutation(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size)));
  return best;
}

/// Every connected subgraph of a graph once: it grows from its least node, and a node joins only
/// through the first of its neighbours in the subgraph (the ESU algorithm of Wernicke, 2006).
struct Enumeration {
  const Graphs& graphs;
  std::size_t size;
  std::vector<std::int8_t> place;  // of every node in the subgraph, plus one; 0: not in it
  std::vector<char> seen;          // whether a node is in the subgraph or next to it
  std::unordered_map<Pattern, std::size_t, Mixed> known;  // kinds by any of their numberings
  std::vector<Pattern> kinds;
  std::unordered_map<Pattern, std::size_t, Mixed> kind_of;  // kinds by their least numbering
  std::vector<std::int64_t> counts;                         // of every kind in the current graph
  std::vector<std::size_t> met;                             // kinds with a count
  std::array<std::vector<std::int64_t>, kLargestSubgraph> candidates;

  Enumeration(const Graphs& all, std::size_t nodes)
      : graphs(all), size(nodes), place(all.labels.size(), 0), seen(all.labels.size(), 0) {}

  template <class Leaves>
  void run(std::size_t graph, Records& records, const Leaves& leaves) {
    for (std::int64_t root = graphs.starts[graph]; root < graphs.starts[graph + 1]; ++root) {
      if (leaves()) return;
      seen[static_cast<std::size_t>(root)] = 1;
      candidates[0].assign(1, root);
      Pattern empty;
      grow(root, 0, empty, leaves);
      seen[static_cast<std::size_t>(root)] = 0;
    }
    for (const std::size_t kind : met) {
      records.push_back(static_cast<std::int64_t>(graph));
      for (std::size_t i = 0; i < size; ++i) records.push_back(kinds[kind].labels[i]);
      records.push_back(kinds[kind].edges);
      records.push_back(counts[kind]);
      counts[kind] = 0;
    }
    met.clear();
  }

 private:
  /// Adds each candidate of a level in turn, with all that can follow it.
  template <class Leaves>
  void grow(std::int64_t root, std::size_t level, const Pattern& pattern, const Leaves& leaves) {
    const bool last = level + 1 == size;
    if (level == 1 && leaves()) return;
    while (!candidates[level].empty()) {
      const std::int64_t node = candidates[level].back();
      candidates[level].pop_back();
      const Pattern grown = with(pattern, node, level);
      if (last) {
        count(grown);
        continue;
      }
      std::vector<std::int64_t>& next = candidates[level + 1];
      next = candidates[level];
      const std::size_t kept = next.size();
      for (const std::int64_t other : graphs.around(node)) {
        if (other < root || seen[static_cast<std::size_t>(other)]) continue;
        seen[static_cast<std::size_t>(other)] = 1;
        next.push_back(other);
      }
      const std::vector<std::int64_t> joined(next.begin() + static_cast<std::ptrdiff_t>(kept),
                                             next.end());
      place[static_cast<std::size_t>(node)] = static_cast<std::int8_t>(level + 1);
      grow(root, level + 1, grown, leaves);
      place[static_cast<std::size_t>(node)] = 0;
      for (const std::int64_t other : joined) seen[static_cast<std::size_t>(other)] = 0;
    }
  }
  Pattern with(const Pattern& pattern, std::int64_t node, std::size_t level) const {
    Pattern grown = pattern;
    grown.labels[level] = graphs.labels[static_cast<std::size_t>(node)];
    for (const std::int64_t other : graphs.around(node)) {
      const std::int8_t at = place[static_cast<std::size_t>(other)];
      if (at > 0) grown.edges |= edge_bit(static_cast<std::size_t>(at - 1), level);
    }
    return grown;
  }
  void count(const Pattern& pattern) {
    auto found = known.find(pattern);
    if (found == known.end()) {
      const auto [kind, fresh] = kind_of.try_emplace(least(pattern, size), kinds.size());
      if (fresh) {
        kinds.push_back(kind->first);
        counts.push_back(0);
      }
      found = known.emplace(pattern, kind->second).first;
    }
    if (counts[found->second]++ == 0) met.push_back(found->second);
  }
};

}  // namespace

std::vector<std::int64_t> subgraph_counts(const Graphs& graphs, std::size_t size) {
  double work = 0.0;
  for (std::size_t node = 0; node < graphs.labels.size(); ++node) {
    const double around = 1.0 + static_cast<double>(graphs.degree(static_cast<std::int64_t>(node)));
    work += std::pow(around, static_cast<double>(size - 1));
  }
  return gather_records<Enumeration>(graphs, static_cast<std::size_t>(std::min(work, 1e18)), size);
}

}  // namespace minimand
