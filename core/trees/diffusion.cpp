#include "trees/diffusion.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace minimand {
namespace {

/// An edge as one of its ends sees it.
struct Side {
  std::size_t edge;
  std::size_t other;  // the node at the other end
  bool first;         // whether this is the first end
};

class Diffusion {
 public:
  Diffusion(const GraphScores& scores, std::span<double> messages)
      : s_(scores), k_(scores.k), messages_(messages), sides_(scores.nodes()), held_(scores.k) {
    for (std::size_t e = 0; e < s_.links(); ++e) {
      const auto u = static_cast<std::size_t>(s_.edges[2 * e]);
      const auto v = static_cast<std::size_t>(s_.edges[2 * e + 1]);
      sides_[u].push_back({e, v, true});
      sides_[v].push_back({e, u, false});
    }
  }

  void pass(bool forth) {
    const std::size_t n = s_.nodes();
    for (std::size_t i = 0; i < n; ++i) visit(forth ? i : n - 1 - i, forth);
  }

  /// Labels node by node, given those before and what later nodes told.
  void choose(std::span<std::int32_t> labels) {
    for (std::size_t v = 0; v < s_.nodes(); ++v) {
      std::copy_n(s_.unary.data() + v * k_, k_, held_.begin());
      for (const Side& side : sides_[v]) {
        if (side.other > v) {
          const double* const m = message(side, true);
          for (std::size_t b = 0; b < k_; ++b) held_[b] += m[b];
        } else {
          const auto a = static_cast<std::size_t>(labels[side.other]);
          for (std::size_t b = 0; b < k_; ++b) held_[b] += score(side, b, a);
        }
      }
      const auto best = std::max_element(held_.begin(), held_.end());
      labels[v] = static_cast<std::int32_t>(best - held_.begin());
    }
  }

 private:
  /// The message of an edge to this end, or to the other.
  double* message(const Side& side, bool own) {
    const std::size_t row = side.first == own ? 0 : s_.links();
    return messages_.data() + (row + side.edge) * k_;
  }

  /// The score of an edge where this end has label b and the other has label a.
  double score(const Side& side, std::size_t b, std::size_t a) const {
    const double* const table = s_.pair.data() + (s_.shared() ? 0 : side.edge * k_ * k_);
    return side.first ? table[b * k_ + a] : table[a * k_ + b];
  }

  void visit(std::size_t v, bool forth) {
    std::size_t before = 0, after = 0;
    std::copy_n(s_.unary.data() + v * k_, k_, held_.begin());
    for (const Side& side : sides_[v]) {
      double* const own = message(side, true);
      if ((side.other < v) == forth) {
        const double* const others = message(side, false);
        for (std::size_t b = 0; b < k_; ++b) {
          double most = -std::numeric_limits<double>::infinity();
          for (std::size_t a = 0; a < k_; ++a) most = std::max(most, score(side, b, a) - others[a]);
          own[b] = most;
        }
        ++before;
      } else {
        ++after;
      }
      for (std::size_t b = 0; b < k_; ++b) held_[b] += own[b];
    }
    if (!after) return;
    const double share = 1.0 / static_cast<double>(std::max(before, after));
    for (const Side& side : sides_[v]) {
      if ((side.other < v) == forth) continue;
      double* const own = message(side, true);
      for (std::size_t b = 0; b < k_; ++b) own[b] -= share * held_[b];
    }
  }

  const GraphScores& s_;
  std::size_t k_;
  std::span<double> messages_;
  std::vector<std::vector<Side>> sides_;
  std::vector<double> held_;
};

}  // namespace

void diffuse_messages(const GraphScores& scores, std::size_t passes, std::span<double> messages,
                      std::span<std::int32_t> labels) {
  Diffusion diffusion(scores, messages);
  for (std::size_t i = 0; i < passes; ++i) {
    diffusion.pass(true);
    diffusion.pass(false);
  }
  diffusion.choose(labels);
}

}  // namespace minimand
