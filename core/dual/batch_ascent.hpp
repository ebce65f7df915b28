#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "common/row_kernels.hpp"
#include "common/watch.hpp"
#include "dual/batch.hpp"
#include "dual/order.hpp"
#include "scalar/lane_steps.hpp"

namespace minimand {

inline constexpr std::size_t kMostGroups = kMostClasses / kLanes;
inline constexpr std::size_t kTile = 4;  // vectors of classes summed in one reading; safeguard

/// Adds x_j w_j over a row, for the vectors of classes that begin at `places` of every w_j.
template <std::size_t Count, class Row>
MINIMAND_INLINE void gather_tile(const Row& row, const double* w, std::size_t width,
                                 const std::size_t* places, Lanes* sums) {
  Lanes even[Count] = {}, odd[Count] = {};  // two chains of additions hide their latency
  std::size_t k = 0;
  for (; k + 2 <= row.size(); k += 2) {
    const double* const one = w + row.column(k) * width;
    const double* const other = w + row.column(k + 1) * width;
    const double x = row.value(k), y = row.value(k + 1);
    for (std::size_t g = 0; g < Count; ++g) {
      even[g] += x * load_lanes(one + places[g]);
      odd[g] += y * load_lanes(other + places[g]);
    }
  }
  if (k < row.size()) {
    const double* const one = w + row.column(k) * width;
    for (std::size_t g = 0; g < Count; ++g) even[g] += row.value(k) * load_lanes(one + places[g]);
  }
  for (std::size_t g = 0; g < Count; ++g) sums[g] = even[g] + odd[g];
}

/// w_j += x_j inverse_j scale, likewise; `inverse` is null if it is part of the scale.
template <std::size_t Count, class Row>
MINIMAND_INLINE void scatter_tile(const Row& row, double* w, std::size_t width,
                                  const std::size_t* places, const Lanes* scales,
                                  const double* inverse) {
  Lanes scale[Count];
  for (std::size_t g = 0; g < Count; ++g) scale[g] = scales[g];
  for (std::size_t k = 0; k < row.size(); ++k) {
    const std::size_t j = row.column(k);
    const double x = inverse == nullptr ? row.value(k) : row.value(k) * inverse[j];
    double* const to = w + j * width;
    for (std::size_t g = 0; g < Count; ++g) {
      store_lanes(to + places[g], load_lanes(to + places[g]) + x * scale[g]);
    }
  }
}

/// The same for any number of vectors.
template <class Row>
MINIMAND_INLINE void gather_row(const Row& row, const double* w, std::size_t width,
                                const std::size_t* places, std::size_t count, Lanes* sums) {
  for (std::size_t from = 0; from < count; from += kTile) {
    const std::size_t* const at = places + from;
    switch (count - from) {
      case 1:
        gather_tile<1>(row, w, width, at, sums + from);
        break;
      case 2:
        gather_tile<2>(row, w, width, at, sums + from);
        break;
      case 3:
        gather_tile<3>(row, w, width, at, sums + from);
        break;
      default:
        gather_tile<kTile>(row, w, width, at, sums + from);
    }
  }
}

template <class Row>
MINIMAND_INLINE void scatter_row(const Row& row, double* w, std::size_t width,
                                 const std::size_t* places, std::size_t count, const Lanes* scales,
                                 const double* inverse) {
  for (std::size_t from = 0; from < count; from += kTile) {
    const std::size_t* const at = places + from;
    switch (count - from) {
      case 1:
        scatter_tile<1>(row, w, width, at, scales + from, inverse);
        break;
      case 2:
        scatter_tile<2>(row, w, width, at, scales + from, inverse);
        break;
      case 3:
        scatter_tile<3>(row, w, width, at, scales + from, inverse);
        break;
      default:
        scatter_tile<kTile>(row, w, width, at, scales + from, inverse);
    }
  }
}

/// Sums over the rows of a sweep, one number a class.
struct BatchSums {
  double total[kMostClasses] = {};  // the change of sum_i mass_i sign_i v_i
  double worst[kMostClasses] = {};  // the largest change of a t
  double met[kMostClasses] = {};    // the terms of the gap, each before the step of its row
};

/// See DualAscent, of which this is the form for several classes. A row is skipped for a class as
/// it would be there; the vectors of classes in which it is skipped for all cost nothing.
template <class Matrix, class Psi>
struct BatchAscent {
  Matrix matrix;
  Psi psi;
  BatchProblem problem;
  BatchState state;

  double alive[kMostClasses] = {};  // 1 for a class that is not done, else 0
  double total[kMostClasses] = {};
  double last_total[kMostClasses] = {};
  double drift[kMostClasses] = {};  // of the intercept since all rows were visited
  bool cut_off = false;

  std::size_t rows() const { return problem.squares.size(); }

  MINIMAND_INLINE bool is_active(std::size_t i, std::size_t place) const {
    std::uint8_t bytes[kLanes], none[kLanes] = {};
    std::memcpy(bytes, state.active.data() + i * problem.width + place, kLanes);
    return std::memcmp(bytes, none, kLanes) != 0;
  }

  /// The step of one vector of classes; the change of w in units of the row, without its sign.
  MINIMAND_INLINE Lanes step(std::size_t i, std::size_t place, Lanes score, BatchSums& sums) {
    const std::size_t at = i * problem.width + place;
    const Lanes pull = load_lanes(problem.pull.data() + at), zero = {};
    const Lanes mass = size_of(pull), sign = select(pull < zero, same_lanes(-1.0), same_lanes(1.0));
    const std::size_t shift_at = problem.shift.size() == problem.width ? place : at;
    const Lanes bias = load_lanes(state.bias.data() + place);
    const Lanes b = load_lanes(state.b.data() + place);
    const Lanes t = sign * (score + b) - load_lanes(problem.shift.data() + shift_at);
    // Where the objective does not depend on a row, the step is short and v becomes psi'(t).
    constexpr double kLeast = 1e-290;  // safeguard
    const Lanes curvature = at_least(mass * (problem.squares.data()[i] + bias), same_lanes(kLeast));
    double* const to = state.v.data() + at;
    const Lanes v = load_lanes(to);
    const LaneSteps found = dual_steps(psi, t, v, curvature);
    const Lanes delta = found.slope - v, moved = pull * delta;
    store_lanes(to, found.slope);
    store_lanes(state.b.data() + place, b - bias * moved);
    add(sums.total + place, moved);
    add(sums.met + place, mass * found.young);
    double* const worst = sums.worst + place;
    store_lanes(worst,
                at_least(load_lanes(worst), select(mass > zero, size_of(found.at - t), zero)));
    note(at, place, select(delta == zero, rooms(psi, found.at), zero));
    return moved;
  }

  MINIMAND_INLINE static void add(double* to, Lanes terms) {
    store_lanes(to, load_lanes(to) + terms);
  }

  /// A row with more room than the threshold is skipped: its slope stays until t has moved so far.
  MINIMAND_INLINE void note(std::size_t at, std::size_t place, Lanes room) {
    const Lanes threshold = load_lanes(state.threshold.data() + place), zero = {};
    const auto visited = (room <= threshold) & (load_lanes(alive + place) > zero);
    for (std::size_t k = 0; k < kLanes; ++k) state.active.data()[at + k] = visited[k] != 0;
  }

  MINIMAND_INLINE void visit(std::size_t i, BatchSums& sums) {
    std::size_t places[kMostGroups], count = 0;
    for (std::size_t place = 0; place < problem.width; place += kLanes) {
      places[count] = place;
      count += is_active(i, place);
    }
    if (count == 0) return;
    const auto row = row_of(matrix, i);
    Lanes scores[kMostGroups];
    gather_row(row, state.w.data(), problem.width, places, count, scores);
    const bool uniform = problem.inverse.size() == 1;
    const double factor = uniform ? -problem.inverse.data()[0] : -1.0;
    std::size_t moving = 0;
    const Lanes zero = {};
    for (std::size_t g = 0; g < count; ++g) {
      const Lanes moved = step(i, places[g], scores[g], sums);
      places[moving] = places[g];
      scores[moving] = factor * moved;
      moving += !holds_everywhere(moved == zero);
    }
    scatter_row(row, state.w.data(), problem.width, places, moving, scores,
                uniform ? nullptr : problem.inverse.data());
  }

  /// Prefetches the coefficients of a row's columns, which lie far apart where rows are sparse.
  MINIMAND_INLINE void fetch_coefficients(std::size_t i) const {
    const auto row = row_of(matrix, i);
    if constexpr (decltype(row)::kSparse) {
      for (std::size_t k = 0; k < row.size(); ++k) {
        const double* const from = state.w.data() + row.column(k) * problem.width;
        __builtin_prefetch(from, 1);
        __builtin_prefetch(from + problem.width - 1, 1);
      }
    }
  }

  MINIMAND_INLINE void sweep(std::span<const std::uint32_t> order, BatchSums& sums) {
    constexpr std::size_t kAhead = 4;  // rows ahead that are prefetched; safeguard
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (k + kAhead < order.size()) row_of(matrix, order.data()[k + kAhead]).fetch();
      if (k + 1 < order.size()) fetch_coefficients(order.data()[k + 1]);
      visit(order.data()[k], sums);
    }
  }

  /// The rows of a sweep, until the watch says stop; returns how many were visited.
  template <class Kernel>
  std::size_t in_pieces(std::span<const std::uint32_t> order, std::size_t entries, BatchSums& sums,
                        const Kernel& kernel) {
    constexpr std::size_t kPieceWork = std::size_t{1} << 23;  // numbers, some ms; measured
    const std::size_t piece = 16 + kPieceWork * rows() / (entries * problem.width + 1);
    std::size_t done = 0;
    while (done < order.size() && !cut_off) {
      const auto some = order.subspan(done, std::min(piece, order.size() - done));
      done += some.size();
      kernel(*this, some, sums);
      cut_off = stopping();
    }
    return done;
  }

  void begin() {
    for (std::size_t c = 0; c < problem.classes; ++c) {
      alive[c] = 1.0;
      for (std::size_t i = 0; i < rows(); ++i) {
        total[c] += problem.pull[i * problem.width + c] * state.v[i * problem.width + c];
      }
      last_total[c] = total[c];
    }
  }

  std::size_t active_rows(std::size_t c) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < rows(); ++i) count += state.active[i * problem.width + c];
    return count;
  }

  void set_active(std::size_t c, bool whether) {
    for (std::size_t i = 0; i < rows(); ++i) {
      const bool counts = problem.pull[i * problem.width + c] != 0.0;
      state.active[i * problem.width + c] = whether && counts;
    }
  }

  /// See DualAscent::recentre.
  double recentre(std::size_t c) {
    if (!problem.intercept) return 0.0;
    if (total[c] * last_total[c] < 0.0) {
      state.bias[c] *= 0.5;
    } else if (std::abs(total[c]) > 0.5 * std::abs(last_total[c])) {
      state.bias[c] *= 1.5;
    }
    last_total[c] = total[c];
    const double move = state.bias[c] * total[c];
    state.b[c] -= move;
    return std::abs(move);
  }

  /// After a sweep: the thresholds of the next one, and the rows that it visits again.
  void prepare_next(const BatchSums& sums) {
    for (std::size_t c = 0; c < problem.classes; ++c) {
      if (alive[c] == 0.0) {
        set_active(c, false);
        continue;
      }
      const double move = recentre(c);
      const std::size_t count = active_rows(c);
      drift[c] = count == rows() ? 0.0 : drift[c] + move;
      if (count == 0 || drift[c] > state.threshold[c]) set_active(c, true);
      const double reach = sums.worst[c] + move;
      state.threshold[c] = reach > 0.0 ? reach : std::numeric_limits<double>::infinity();
    }
  }

  /// Whether half of the classes that are left are so near their target that a class by itself,
  /// with a judgement of its own, would cost more than the sweeps that are missing.
  bool is_nearly_done() const {
    constexpr double kNearTarget = 10.0;  // factor; safeguard
    std::size_t left = 0, near = 0;
    for (std::size_t c = 0; c < problem.classes; ++c) {
      if (alive[c] == 0.0) continue;
      ++left;
      near += state.gap[c] <= kNearTarget * problem.target[c];
    }
    return 2 * near >= left;
  }

  /// Whether a vector of classes in which something is active has enough of them active: visiting
  /// it costs about as much as 1.5 classes one at a time (measured on 20 groups of documents).
  bool is_worthwhile() const {
    if (is_nearly_done()) return true;
    std::size_t active = 0, groups = 0;
    for (std::size_t i = 0; i < rows(); ++i) {
      for (std::size_t place = 0; place < problem.width; place += kLanes) {
        if (!is_active(i, place)) continue;
        ++groups;
        for (std::size_t k = 0; k < kLanes; ++k) {
          active += state.active[i * problem.width + place + k];
        }
      }
    }
    return 2 * active > 3 * groups;
  }

  /// Rows in which some class is active, before those in which none is.
  std::size_t arrange(std::vector<std::uint32_t>& order) const {
    const auto middle = std::partition(order.begin(), order.end(), [this](std::uint32_t i) {
      const auto bytes = state.active.subspan(i * problem.width, problem.width);
      return std::any_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte != 0; });
    });
    return static_cast<std::size_t>(middle - order.begin());
  }

  double intercept_cost(std::size_t c, std::vector<double>& masses,
                        std::vector<double>& slopes) const {
    masses.resize(rows());
    slopes.resize(rows());
    for (std::size_t i = 0; i < rows(); ++i) {
      masses[i] = std::abs(problem.pull[i * problem.width + c]);
      slopes[i] = state.v[i * problem.width + c];
    }
    return psi.cost_of(total[c], problem.reach[c], masses, slopes);
  }

  /// The estimated gaps from the terms met in the last two sweeps; true if every class is done.
  bool estimate(std::span<const BatchSums> parts, std::vector<double>& masses,
                std::vector<double>& slopes) {
    const std::size_t count = parts.size();
    bool all = true;
    for (std::size_t c = 0; c < problem.classes; ++c) {
      double met = 0.0, before = 0.0;
      for (std::size_t k = 0; k < Psi::kParts; ++k) {
        met += parts[count - 1 - k].met[c];
        if (count >= 2 * Psi::kParts) before += parts[count - 1 - Psi::kParts - k].met[c];
      }
      if (alive[c] > 0.0) {
        state.gap[c] = psi.remaining(met, before);
        if (problem.intercept) state.gap[c] += intercept_cost(c, masses, slopes);
        if (state.gap[c] <= problem.target[c]) alive[c] = 0.0;
      }
      all = all && alive[c] == 0.0;
    }
    return all;
  }

  template <class Kernel>
  BatchReport run(std::int64_t epochs, std::size_t entries, Shuffler random, const Kernel& kernel) {
    std::vector<std::uint32_t> rows_in_order(rows());
    for (std::size_t i = 0; i < rows(); ++i) rows_in_order[i] = static_cast<std::uint32_t>(i);
    std::vector<BatchSums> parts;  // of every part of a sweep
    std::vector<double> masses, slopes;
    BatchSums sweep_sums;
    double sweeps = 0.0;
    begin();
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      VisitingOrder order(rows_in_order, arrange(rows_in_order));
      const auto visits = order.shuffled(random);
      const std::vector<std::size_t> splits = even_splits(visits.size(), Psi::kParts);
      sweep_sums = {};
      for (std::size_t part = 0; part < Psi::kParts; ++part) {
        parts.emplace_back();
        BatchSums& sums = parts.back();
        const auto some = visits.subspan(splits[part], splits[part + 1] - splits[part]);
        const std::size_t done = in_pieces(some, entries, sums, kernel);
        sweeps += static_cast<double>(done) / static_cast<double>(rows());
        for (std::size_t c = 0; c < problem.classes; ++c) {
          total[c] += sums.total[c];
          sweep_sums.worst[c] = std::max(sweep_sums.worst[c], sums.worst[c]);
        }
        if (cut_off) return {sweeps, true};
        const bool whole = parts.size() >= static_cast<std::size_t>(Psi::kParts);
        if (whole && estimate(parts, masses, slopes)) return {sweeps, true};
      }
      prepare_next(sweep_sums);
      if (!is_worthwhile()) return {sweeps, false};
    }
    return {sweeps, true};
  }
};

}  // namespace minimand
