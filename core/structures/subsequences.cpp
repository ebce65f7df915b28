#include "structures/subsequences.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "common/lanes.hpp"
#include "common/parallel.hpp"
#include "structures/tasks.hpp"

namespace minimand {
namespace {

/// Subsequences of up to this length keep their running sums in registers; measured: vectors of
/// four doubles, of which there are sixteen.
constexpr std::size_t kInRegisters = 5;

/// Several sequences side by side, one a lane. Symbols are doubles so that a comparison gives a
/// mask for doubles; past the end of a sequence they are -2, which equals no symbol.
struct Batch {
  std::vector<double> symbols;
  std::size_t length = 0;

  void fill(const Sequences& sequences, std::span<const std::size_t> chosen) {
    length = 0;
    for (const std::size_t i : chosen) length = std::max(length, sequences.length(i));
    symbols.assign(length * kLanes, -2.0);
    for (std::size_t lane = 0; lane < chosen.size(); ++lane) {
      const auto one = sequences.of(chosen[lane]);
      for (std::size_t j = 0; j < one.size(); ++j) symbols[j * kLanes + lane] = one[j];
    }
  }
};

/// What the recursion keeps: for every place of the batch and every level l = 1 .. length - 1 the
/// sums K'_l, in which a subsequence counts as reaching to the end of both prefixes.
struct Levels {
  std::size_t count;
  std::vector<double> sums;            // batch length x count, of one row of the recursion
  std::vector<double> running, above;  // for subsequences too long for registers

  explicit Levels(std::size_t length)
      : count(length - 1), running(length * kLanes), above(length * kLanes) {}
};

/// One symbol of the other sequence against all places of a batch. `above[l]` is K'_l of the row
/// before, one place back; K'_0 = 1. Adds K'_(length - 1) there, for each match, to `total`.
///
///   K''_l(s x, t y) = decay K''_l(s x, t) + [x = y] decay^2 K'_(l-1)(s, t)
///   K'_l(s x, t)    = decay K'_l(s, t) + K''_l(s x, t)
template <class Store>
MINIMAND_INLINE Lanes take_symbol(double symbol, const Batch& batch, double* sums,
                                  std::size_t count, double decay, Store& running, Store& above,
                                  Lanes total) {
  const Lanes x = same_lanes(symbol), none = {};
  for (std::size_t l = 0; l <= count; ++l) {
    running.set(l, none);
    above.set(l, none);
  }
  above.set(0, same_lanes(1.0));
  for (std::size_t j = 0; j < batch.length; ++j) {
    const auto match = load_lanes(batch.symbols.data() + j * kLanes) == x;
    total += select(match, above.get(count), none);
    for (std::size_t l = count; l > 0; --l) {  // falling: level l reads what l - 1 had before
      double* const cell = sums + (j * count + l - 1) * kLanes;
      const Lanes old = load_lanes(cell);
      const Lanes sum =
          decay * running.get(l) + select(match, decay * decay * above.get(l - 1), none);
      running.set(l, sum);
      store_lanes(cell, decay * old + sum);
      above.set(l, old);
    }
  }
  return total;
}

/// Vectors of the levels in registers.
template <std::size_t size>
struct InRegisters {
  Lanes values[size];
  MINIMAND_INLINE Lanes get(std::size_t l) const { return values[l]; }
  MINIMAND_INLINE void set(std::size_t l, Lanes value) { values[l] = value; }
};

struct InMemory {
  double* values;
  MINIMAND_INLINE Lanes get(std::size_t l) const { return load_lanes(values + l * kLanes); }
  MINIMAND_INLINE void set(std::size_t l, Lanes value) { store_lanes(values + l * kLanes, value); }
};

template <std::size_t count>
MINIMAND_INLINE Lanes sum_in_registers(std::span<const std::int32_t> one, const Batch& batch,
                                       double* sums, double decay) {
  Lanes total = {};
  InRegisters<count + 1> running, above;
  for (const std::int32_t symbol : one) {
    total = take_symbol(symbol, batch, sums, count, decay, running, above, total);
  }
  return total;
}

MINIMAND_CLONES void kernel(std::span<const std::int32_t> one, const Batch& batch, Levels& levels,
                            double decay, double* result) {
  static_assert(kInRegisters == 5);
  double* const sums = levels.sums.data();
  Lanes total = {};
  switch (levels.count) {
    case 0:
      total = sum_in_registers<0>(one, batch, sums, decay);
      break;
    case 1:
      total = sum_in_registers<1>(one, batch, sums, decay);
      break;
    case 2:
      total = sum_in_registers<2>(one, batch, sums, decay);
      break;
    case 3:
      total = sum_in_registers<3>(one, batch, sums, decay);
      break;
    case 4:
      total = sum_in_registers<4>(one, batch, sums, decay);
      break;
    default:
      InMemory running{levels.running.data()}, above{levels.above.data()};
      for (const std::int32_t symbol : one) {
        total = take_symbol(symbol, batch, sums, levels.count, decay, running, above, total);
      }
  }
  store_lanes(result, decay * decay * total);
}

/// The kernel of one sequence with each of a batch.
std::array<double, kLanes> with_batch(std::span<const std::int32_t> one, const Batch& batch,
                                      Levels& levels, double decay) {
  levels.sums.assign(batch.length * levels.count * kLanes, 0.0);
  std::array<double, kLanes> result;
  kernel(one, batch, levels, decay, result.data());
  return result;
}

/// Sequences by falling length: a batch then holds sequences of like lengths, and threads take the
/// largest pieces first.
std::vector<std::size_t> longest_first(const Sequences& sequences) {
  std::vector<std::size_t> order(sequences.count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return sequences.length(i) > sequences.length(j);
  });
  return order;
}

}  // namespace

void subsequence_gram(const Sequences& left, const Sequences& right, bool same, std::size_t length,
                      double decay, std::span<double> gram) {
  const auto order = longest_first(right);
  const auto rows = same ? order : longest_first(left);
  const std::size_t batches = (order.size() + kLanes - 1) / kLanes;
  const std::size_t work = left.symbols.size() * right.symbols.size() / kLanes * length;
  const std::size_t parts = part_count(batches, work);
  std::vector<Batch> batch(parts);
  std::vector<Levels> levels(parts, Levels(length));
  share_tasks(batches, parts, [&](std::size_t number, std::size_t part, const auto& leaves) {
    const std::size_t from = number * kLanes, to = std::min(from + kLanes, order.size());
    const auto chosen = std::span(order).subspan(from, to - from);
    batch[part].fill(right, chosen);
    for (std::size_t a = same ? from : 0; a < rows.size(); ++a) {  // shorter ones, if the same
      if (leaves()) return;
      const auto values = with_batch(left.of(rows[a]), batch[part], levels[part], decay);
      for (std::size_t lane = 0; lane < chosen.size(); ++lane) {
        gram[rows[a] * order.size() + chosen[lane]] = values[lane];
        if (same) gram[chosen[lane] * order.size() + rows[a]] = values[lane];
      }
    }
  });
}

void subsequence_diagonal(const Sequences& sequences, std::size_t length, double decay,
                          std::span<double> diagonal) {
  std::size_t work = 0;
  for (std::size_t i = 0; i < sequences.count(); ++i) {
    work += sequences.length(i) * sequences.length(i) * length;
  }
  const std::size_t parts = part_count(sequences.count(), work);
  std::vector<Batch> batch(parts);
  std::vector<Levels> levels(parts, Levels(length));
  share_tasks(sequences.count(), parts, [&](std::size_t i, std::size_t part, const auto&) {
    batch[part].fill(sequences, std::span(&i, 1));
    diagonal[i] = with_batch(sequences.of(i), batch[part], levels[part], decay)[0];
  });
}

}  // namespace minimand
