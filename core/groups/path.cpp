#include "groups/path.hpp"

#include <algorithm>
#include <vector>

#include "path/on_gram.hpp"

namespace minimand {
namespace {

/// A line through two models: groups that are zero stay zero, and so do numbers with an l1 part.
void draw_groups_on(const GroupPenalties& penalties, std::span<const double> before,
                    std::span<const double> last, double ahead, std::span<double> next) {
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
    const bool zero = !(squared_length(last.data() + begin, size) > 0.0);
    for (std::size_t i = begin; i < begin + size; ++i) {
      const double value = last[i] + ahead * (last[i] - before[i]);
      const bool crosses = penalties.l1[i] > 0.0 && !(last[i] * value > 0.0);
      next[i] = zero || crosses ? 0.0 : value;
    }
  }
}

/// Takes the quadratic along that line to `next`.
void follow(GroupQuadratic& loss, const GroupPenalties& penalties, std::span<const double> before,
            std::span<const double> last, double ahead, std::span<const double> next) {
  loss.go_on(ahead);
  bool moved = false;
  std::vector<double> off;
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
    off.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      const double value = last[begin + i];
      off[i] = next[begin + i] - (value + ahead * (value - before[begin + i]));
    }
    if (std::ranges::all_of(off, [](double x) { return x == 0.0; })) continue;
    loss.move(g, 1, off);
    moved = true;
  }
  if (moved) loss.look_everywhere();
}

}  // namespace

std::size_t solve_groups(GroupQuadratic& loss, const GroupGrid& grid, std::size_t first,
                         bool started, GroupGoal goal) {
  GroupMinimiser minimiser;
  const std::size_t n = loss.q().size();
  const auto row = [&](std::size_t k) { return grid.coefs.subspan(k * n, n); };
  for (std::size_t k = first; k < grid.alphas.size(); ++k) {
    const GroupPenalties penalties = grid.penalties(k);
    double ahead = 0.0;
    if (k > 0 && !(k == first && started)) {
      const auto before = row(k > 1 ? k - 2 : k - 1);
      if (k > 1) ahead = steps_ahead(grid.alphas[k - 2], grid.alphas[k - 1], grid.alphas[k]);
      draw_groups_on(penalties, before, row(k - 1), ahead, row(k));
    }
    if (ahead > 0.0 && loss.came(row(k - 2), row(k - 1))) {
      follow(loss, penalties, row(k - 2), row(k - 1), ahead, row(k));
    } else {
      loss.start(row(k));
    }
    const bool solved = minimiser.minimise(loss, penalties, row(k), goal);
    loss.arrive(row(k), solved);
    if (!solved) return k;
  }
  return grid.alphas.size();
}

}  // namespace minimand
