#include "kernel/box_steps.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/watch.hpp"
#include "dense/tiles.hpp"
#include "kernel/block_solver.hpp"

namespace minimand {
namespace {

constexpr std::int64_t kMostSteps = 100;  // per position of a block; safeguard
constexpr double kBlockShare = 0.1;       // of its violation that a block may leave; measured
constexpr std::size_t kPositions = 2048;  // of f per pass over the moved rows, 16 kB; safeguard

/// The slopes up and down of every movable position.
struct Slopes {
  std::vector<double> up, down;
  double violation;
};

void find_slopes(const BoxProblem& problem, const BoxState& state, Slopes& slopes) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double top[2] = {-kInfinity, -kInfinity}, bottom[2] = {kInfinity, kInfinity};
  for (std::size_t k = 0; k < slopes.up.size(); ++k) {
    const double up =
        slope_up(state.a[k], state.f[k], problem.high[k], problem.below[k], problem.above[k]);
    const double down =
        slope_down(state.a[k], state.f[k], problem.low[k], problem.below[k], problem.above[k]);
    slopes.up[k] = up;
    slopes.down[k] = down;
    const std::size_t group = problem.group[k];
    top[group] = std::max(top[group], up);
    bottom[group] = std::min(bottom[group], down);
  }
  if (problem.balanced) {
    slopes.violation = std::max(top[0] - bottom[0], top[1] - bottom[1]);
  } else {
    const double most = std::max(std::max(top[0], top[1]), -std::min(bottom[0], bottom[1]));
    slopes.violation = std::max(most, 0.0);
  }
}

/// Picks the positions of the next block: half of them violate optimality most, the other half
/// are the newest of the last block.
class Picker {
 public:
  Picker(std::size_t movable, std::size_t most) : order_(movable), chosen_(movable), most_(most) {
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
  }

  const std::vector<std::uint32_t>& pick(const BoxProblem& problem, const Slopes& slopes) {
    if (order_.size() <= most_) return order_;
    const std::size_t kept = std::min(block_.size(), most_ / 2);
    block_.erase(block_.begin(), block_.end() - static_cast<std::ptrdiff_t>(kept));
    std::fill(chosen_.begin(), chosen_.end(), std::uint8_t{0});
    for (const std::uint32_t k : block_) chosen_[k] = 1;
    const std::size_t groups = problem.balanced ? 2 : 1;
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t share = (most_ - kept) / (2 * groups_with(problem, groups));
      take(share, [&](std::uint32_t k) { return worth(problem, slopes.up[k], k, g); });
      take(share, [&](std::uint32_t k) { return worth(problem, -slopes.down[k], k, g); });
    }
    return block_;
  }

 private:
  std::vector<std::uint32_t> order_, block_, candidates_;
  std::vector<std::uint8_t> chosen_;
  std::vector<double> worths_;
  std::size_t most_;

  /// How many groups have positions that may move.
  std::size_t groups_with(const BoxProblem& problem, std::size_t groups) const {
    if (groups == 1) return 1;
    bool found[2] = {false, false};
    for (const std::uint32_t k : order_) found[problem.group[k]] = true;
    return found[0] && found[1] ? 2 : 1;
  }

  static double worth(const BoxProblem& problem, double slope, std::uint32_t k, std::size_t g) {
    const bool other = problem.balanced && problem.group[k] != g;
    return other ? -std::numeric_limits<double>::infinity() : slope;
  }

  /// Adds the `count` positions that are worth most, of those that are not in the block.
  template <class Worth>
  void take(std::size_t count, const Worth& worth) {
    candidates_.clear();
    worths_.resize(order_.size());
    for (const std::uint32_t k : order_) {
      worths_[k] = worth(k);
      const bool moves = worths_[k] > -std::numeric_limits<double>::infinity();
      if (moves && !chosen_[k]) candidates_.push_back(k);
    }
    count = std::min(count, candidates_.size());
    const auto middle = candidates_.begin() + static_cast<std::ptrdiff_t>(count);
    std::nth_element(candidates_.begin(), middle, candidates_.end(),
                     [&](std::uint32_t p, std::uint32_t q) {
                       return worths_[p] != worths_[q] ? worths_[p] > worths_[q] : p < q;
                     });
    for (auto found = candidates_.begin(); found != middle; ++found) {
      chosen_[*found] = 1;
      block_.push_back(*found);
    }
  }
};

/// Copies what concerns the picked positions, those of group 0 first.
template <class Scalar>
void gather(const DenseMatrix<Scalar>& rows, const BoxProblem& problem, const BoxState& state,
            std::span<const std::uint32_t> picked, Block<Scalar>& block) {
  block.resize(picked.size());
  std::copy(picked.begin(), picked.end(), block.position.begin());
  const auto in_first = [&](std::uint32_t k) { return !problem.balanced || problem.group[k] == 0; };
  const auto middle = std::stable_partition(block.position.begin(), block.position.end(), in_first);
  block.begin[1] = static_cast<std::size_t>(middle - block.position.begin());
  block.begin[2] = block.size;
  block.take_rows_of(rows);
  for (std::size_t k = 0; k < block.size; ++k) {
    const std::size_t p = block.position[k];
    block.a[k] = state.a[p];
    block.f[k] = state.f[p];
    block.low[k] = problem.low[p];
    block.high[k] = problem.high[p];
    block.below[k] = problem.below[p];
    block.above[k] = problem.above[p];
    refresh(block, k);
  }
}

/// f += K'change at some positions; rows whose change is zero are not read.
template <class Scalar>
void add_change(const DenseMatrix<Scalar>& rows, std::span<const double> change, std::size_t moved,
                Range positions, std::span<double> f) {
  if (positions.begin >= positions.end) return;
  parallel_ranges(positions.size(), moved * positions.size(), [&](Range part, std::size_t) {
    const std::size_t end = positions.begin + part.end;
    for (std::size_t p = positions.begin + part.begin; p < end; p += kPositions) {
      add_line_sums(rows, Tile{{0, rows.lines}, {p, std::min(p + kPositions, end)}}, change, f);
    }
  });
}

template <class Scalar>
BoxReport steps_on(const DenseMatrix<Scalar>& rows, const BoxProblem& problem, BoxState state,
                   double goal, std::size_t most, std::int64_t most_blocks) {
  const std::size_t movable = rows.lines;
  Slopes slopes{std::vector<double>(movable), std::vector<double>(movable), 0.0};
  Picker picker(movable, most);
  Block<Scalar> block;
  std::vector<double> change(movable);
  const std::vector<double> start(state.a.begin(),
                                  state.a.begin() + static_cast<std::ptrdiff_t>(movable));
  BoxReport report{0.0, 0, 0};
  for (;;) {
    find_slopes(problem, state, slopes);
    report.violation = slopes.violation;
    if (!(report.violation > goal) || report.blocks >= most_blocks || stopping()) break;
    gather(rows, problem, state, picker.pick(problem, slopes), block);
    // A block of all positions has no others to wait for.
    const double share = block.size == movable ? 0.0 : kBlockShare;
    const std::int64_t most_steps = kMostSteps * static_cast<std::int64_t>(block.size);
    const BlockReport found = solve_block(block, problem.balanced, goal, share, most_steps);
    ++report.blocks;
    report.steps += found.steps;
    if (found.steps == 0) break;  // no step is possible in this precision
    std::size_t moved = 0;
    for (std::size_t k = 0; k < block.size; ++k) {
      const std::size_t p = block.position[k];
      change[p] = block.a[k] - state.a[p];
      moved += change[p] != 0.0;
      state.a[p] = block.a[k];
    }
    add_change(rows, change, moved, {0, movable}, state.f);
    for (const std::uint32_t p : block.position) change[p] = 0.0;
  }
  std::size_t moved = 0;
  for (std::size_t k = 0; k < movable; ++k) {
    change[k] = state.a[k] - start[k];
    moved += change[k] != 0.0;
  }
  add_change(rows, change, moved, {movable, rows.length}, state.f);
  return report;
}

}  // namespace

BoxReport box_steps(const DenseMatrix<float>& rows, const BoxProblem& problem, BoxState state,
                    double goal, std::size_t block, std::int64_t most_blocks) {
  return steps_on(rows, problem, state, goal, block, most_blocks);
}

BoxReport box_steps(const DenseMatrix<double>& rows, const BoxProblem& problem, BoxState state,
                    double goal, std::size_t block, std::int64_t most_blocks) {
  return steps_on(rows, problem, state, goal, block, most_blocks);
}

}  // namespace minimand
