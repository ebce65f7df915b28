#include "kernel/machines.hpp"

#include <atomic>
#include <cmath>
#include <numeric>

#include "common/watch.hpp"
#include "dense/tiles.hpp"
#include "kernel/free_positions.hpp"
#include "kernel/levels.hpp"

namespace minimand {
namespace {

constexpr double kPerSample = 100.0;  // gap over violation and range, as most terms of a gap
                                      // are zero; measured on pairs of digits
constexpr std::size_t kSteps = 2;  // positions per step of a round; measured on SVCs of digits and
                                   // of six made sets: 1 and 4 take up to a quarter more
constexpr std::int64_t kBetween = 10;  // steps per position between two judgements; measured on 13
                                       // made sets: half takes 31 % less to 69 % more time, double
                                       // 16 % less to 45 % more
constexpr std::int64_t kMost = 3000;   // steps per position; safeguard
constexpr std::int64_t kPatience = 120;  // steps per position without progress; safeguard
constexpr double kProgress = 0.9;        // factor of the gap that counts as progress; safeguard
constexpr std::size_t kMany = 128;  // free positions, from where on the systems of the caller are
                                    // faster than those of FreePositions; measured
constexpr double kCall = 1e6;       // element operations of steps after which they are; measured
constexpr double kOfFactor = 0.06;  // the same per cube of free positions, a quarter of what
                                    // systems take; measured at 180 to 810 free positions
constexpr std::size_t kWorkOfRow = 100;  // element operations a row of K costs, about; safeguard

/// Minimises one machine after the other, in the same memory.
class Settling {
 public:
  /// `asks` says whether this is the calling thread, which alone may ask whether to stop.
  MachineReport settle(const DenseMatrix<double>& matrix, const BoxMachine& machine,
                       std::atomic<bool>& stopped, bool asks) {
    gather(matrix, machine);
    const bool balanced = machine.problem.balanced;
    double ranges = 0.0;
    for (std::size_t k = 0; k < block_.size; ++k) ranges += block_.high[k] - block_.low[k];
    const auto positions = static_cast<std::int64_t>(block_.size);
    const std::int64_t most = positions / static_cast<std::int64_t>(kSteps) + 1;
    MachineReport report{{0.0, 0.0}, judged(balanced, machine.scaled), 0};
    double least = report.gap, aim = 0.0, spent = 0.0, trust = 1.0;
    std::int64_t waited = 0, since = 0;
    while (report.gap > target(machine) && report.steps <= kMost * positions) {
      if (asks && stopping()) stopped = true;
      if (waited > kPatience * positions || stopped) break;
      if (aim == 0.0) aim = kPerSample * target(machine) / std::max(ranges, 1e-300);
      const BlockReport found = solve_block(block_, balanced, aim, 0.0, most);
      report.steps += found.steps;
      spent += static_cast<double>(found.steps) * static_cast<double>(block_.size);
      const bool slow = found.violation > aim;
      if (slow && spent > patience(free_.count(block_))) {
        keep_sums(balanced);
        report.gap = judged(balanced, machine.scaled);
        break;
      }
      const double used = slow ? free_.move(block_, balanced, trust * spent) : 0.0;
      since += found.steps;
      if (slow && used == 0.0 && found.steps == most && since < kBetween * positions) continue;
      if (used > 0.0) spent = 0.0;
      keep_sums(balanced);
      report.gap = judged(balanced, machine.scaled);
      waited = report.gap < kProgress * least ? 0 : waited + std::max(since, most);
      if (waited > 0) trust *= 2.0;  // steps of pairs get nowhere
      since = 0;
      least = std::min(least, report.gap);
      if (slow && found.steps == 0 && used == 0.0) break;  // no step is possible in this precision
      if (!slow) aim *= 0.5;
    }
    std::copy_n(judge_.levels(), 2, report.levels);
    for (std::size_t k = 0; k < block_.size; ++k) {
      machine.state.a[order_[k]] = block_.a[k];
      machine.state.f[order_[k]] = block_.f[k];
    }
    return report;
  }

 private:
  Block<double> block_;
  FreePositions free_;
  BlockJudge judge_;
  std::vector<std::size_t> order_;  // the position of the machine at every place of the block
  double sums_[2] = {0.0, 0.0};

  /// Element operations of steps after which the machine is left to the caller.
  static double patience(std::size_t free) {
    if (free < kMany) return std::numeric_limits<double>::infinity();
    const double m = static_cast<double>(free);
    return kCall + kOfFactor * m * m * m;
  }

  double target(const BoxMachine& machine) const {
    if (machine.share == 0.0) return machine.goal;
    const double size = 0.5 * std::abs(dot(block_.a.data(), block_.f.data(), block_.size));
    return std::max(machine.goal, machine.share * size);
  }

  /// Copies what concerns the machine, positions of group 0 first.
  void gather(const DenseMatrix<double>& matrix, const BoxMachine& machine) {
    const BoxProblem& problem = machine.problem;
    block_.resize(machine.rows.size());
    order_.resize(block_.size);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto in_first = [&](std::size_t k) { return !problem.balanced || !problem.group[k]; };
    const auto middle = std::stable_partition(order_.begin(), order_.end(), in_first);
    block_.begin[1] = static_cast<std::size_t>(middle - order_.begin());
    block_.begin[2] = block_.size;
    for (std::size_t k = 0; k < block_.size; ++k) {
      const std::size_t p = order_[k];
      block_.position[k] = machine.rows[p];
      block_.a[k] = machine.state.a[p];
      block_.low[k] = problem.low[p];
      block_.high[k] = problem.high[p];
      block_.below[k] = problem.below[p];
      block_.above[k] = problem.above[p];
    }
    block_.take_rows_of(matrix);
    for (std::size_t g = 0; g < 2; ++g) sums_[g] = sum_of_group(g);
  }

  double sum_of_group(std::size_t g) const {
    return sum(block_.a.data() + block_.begin[g], block_.begin[g + 1] - block_.begin[g]);
  }

  /// Takes what rounding has added to the sum of each group from its freest position.
  void keep_sums(bool balanced) {
    for (std::size_t g = 0; balanced && g < 2; ++g) {
      std::size_t freest = block_.begin[g];
      double most = -1.0;
      for (std::size_t k = block_.begin[g]; k < block_.begin[g + 1]; ++k) {
        const double room = std::min(block_.a[k] - block_.low[k], block_.high[k] - block_.a[k]);
        if (room > most) {
          most = room;
          freest = k;
        }
      }
      if (most < 0.0) continue;
      const double rest = block_.a[freest] - (sum_of_group(g) - sums_[g]);
      block_.a[freest] = std::clamp(rest, block_.low[freest], block_.high[freest]);
    }
  }

  /// f = Ka and the slopes anew; the gap at the best levels.
  double judged(bool balanced, bool scaled) {
    std::fill(block_.f.begin(), block_.f.end(), 0.0);
    for (std::size_t k = 0; k < block_.size; ++k) {
      if (block_.a[k] != 0.0) block_.row(k);
    }
    add_line_sums(block_.rows(), Tile{{0, block_.size}, {0, block_.size}}, block_.a, block_.f);
    for (std::size_t k = 0; k < block_.size; ++k) refresh(block_, k);
    judge_.find_levels(block_, balanced);
    return judge_.gap(block_, scaled);
  }
};

}  // namespace

void settle_machines(const DenseMatrix<double>& matrix, std::span<const BoxMachine> machines,
                     std::span<MachineReport> reports) {
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> stopped = false;
  std::size_t work = 0;
  for (const BoxMachine& machine : machines) {
    work += kWorkOfRow * machine.rows.size() * machine.rows.size();
  }
  // Machines differ in their steps, so that threads take one after the other.
  parallel_ranges(machines.size(), work, [&](Range, std::size_t part) {
    Settling settling;
    for (std::size_t m = next++; m < machines.size(); m = next++) {
      reports[m] = settling.settle(matrix, machines[m], stopped, part == 0);
    }
  });
}

}  // namespace minimand
