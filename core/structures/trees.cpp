#include "structures/trees.hpp"

#include <vector>

#include "structures/tasks.hpp"

namespace minimand {
namespace {

/// The nodes of one tree by their production, in one list per production.
class Places {
 public:
  explicit Places(std::size_t productions) : first_(productions, kNone) {}

  void hold(const Trees& trees, std::size_t tree) {
    for (const std::int32_t production : held_)
      first_[static_cast<std::size_t>(production)] = kNone;
    held_.clear();
    const std::int64_t from = trees.starts[tree], to = trees.starts[tree + 1];
    next_.assign(static_cast<std::size_t>(to - from), kNone);
    for (std::int64_t node = to; node-- > from;) {
      const std::int32_t production = trees.production[static_cast<std::size_t>(node)];
      if (production < 0) continue;
      std::int64_t& head = first_[static_cast<std::size_t>(production)];
      if (head == kNone) held_.push_back(production);
      next_[static_cast<std::size_t>(node - from)] = head;
      head = node - from;
    }
  }
  std::int64_t first(std::int32_t production) const {
    return first_[static_cast<std::size_t>(production)];
  }
  std::int64_t next(std::int64_t place) const { return next_[static_cast<std::size_t>(place)]; }

  static constexpr std::int64_t kNone = -1;  // no place; definition

 private:
  std::vector<std::int64_t> first_, next_;
  std::vector<std::int32_t> held_;  // productions that occur, to be cleared
};

/// The kernel of one tree with the tree that `places` holds.
///
///   C(u, v) = decay prod_j (1 + C(child j of u, child j of v)) if both have the same production,
///   else 0; the kernel is the sum of C over all pairs. Only pairs that match are ever written or
///   read in `table`.
double sum_matches(const Trees& left, std::size_t a, const Trees& right, std::size_t b,
                   const Places& places, double decay, std::vector<double>& table) {
  const std::int64_t from = left.starts[a], to = left.starts[a + 1], origin = right.starts[b];
  const auto width = static_cast<std::size_t>(right.starts[b + 1] - origin);
  const std::size_t needed = static_cast<std::size_t>(to - from) * width;
  if (table.size() < needed) table.resize(needed);
  double total = 0.0;
  for (std::int64_t u = from; u < to; ++u) {
    const std::int32_t production = left.production[static_cast<std::size_t>(u)];
    if (production < 0) continue;
    const std::int64_t* const mine =
        left.children.data() + left.child_starts[static_cast<std::size_t>(u)];
    const auto count = static_cast<std::size_t>(left.child_starts[static_cast<std::size_t>(u) + 1] -
                                                left.child_starts[static_cast<std::size_t>(u)]);
    for (std::int64_t v = places.first(production); v != Places::kNone; v = places.next(v)) {
      const std::int64_t* const theirs =
          right.children.data() + right.child_starts[static_cast<std::size_t>(origin + v)];
      double product = decay;
      for (std::size_t j = 0; j < count; ++j) {
        if (mine[j] < 0 || theirs[j] < 0) continue;
        const std::int32_t below = left.production[static_cast<std::size_t>(mine[j])];
        if (below < 0 || below != right.production[static_cast<std::size_t>(theirs[j])]) continue;
        product *= 1.0 + table[static_cast<std::size_t>(mine[j] - from) * width +
                               static_cast<std::size_t>(theirs[j] - origin)];
      }
      table[static_cast<std::size_t>(u - from) * width + static_cast<std::size_t>(v)] = product;
      total += product;
    }
  }
  return total;
}

/// Scratch memory of a thread.
struct Scratch {
  Places places;
  std::vector<double> table;
};

}  // namespace

void subset_tree_gram(const Trees& left, const Trees& right, bool same, double decay,
                      std::span<double> gram) {
  const std::size_t columns = right.count();
  const std::size_t work = left.production.size() * columns;
  const std::size_t parts = part_count(columns, work);
  std::vector<Scratch> scratch(parts, Scratch{Places(right.productions), {}});
  share_tasks(columns, parts, [&](std::size_t b, std::size_t part, const auto& leaves) {
    Scratch& mine = scratch[part];
    mine.places.hold(right, b);
    for (std::size_t a = same ? b : 0; a < left.count(); ++a) {
      if (leaves()) return;
      const double value = sum_matches(left, a, right, b, mine.places, decay, mine.table);
      gram[a * columns + b] = value;
      if (same) gram[b * columns + a] = value;
    }
  });
}

void subset_tree_diagonal(const Trees& trees, double decay, std::span<double> diagonal) {
  const std::size_t parts = part_count(trees.count(), 8 * trees.production.size());
  std::vector<Scratch> scratch(parts, Scratch{Places(trees.productions), {}});
  share_tasks(trees.count(), parts, [&](std::size_t t, std::size_t part, const auto&) {
    Scratch& mine = scratch[part];
    mine.places.hold(trees, t);
    diagonal[t] = sum_matches(trees, t, trees, t, mine.places, decay, mine.table);
  });
}

}  // namespace minimand
