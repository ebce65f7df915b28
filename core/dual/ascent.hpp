#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "common/parallel.hpp"
#include "common/targets.hpp"
#include "common/watch.hpp"
#include "dual/order.hpp"
#include "dual/rows.hpp"

namespace minimand {

inline constexpr std::size_t kAhead = 4;  // rows ahead that are prefetched; safeguard

/// One thread's part of a sweep: its rows, what it changes, and the sums it computes.
struct DualPart {
  std::span<const std::uint32_t> rows;
  std::span<double> w;
  double b;
  double coupling;     // factor of its own steps in its w: the number of threads
  double total = 0.0;  // the change of sum_i mass_i sign_i v_i
  double worst = 0.0;  // the largest change of a t
  double met = 0.0;    // the sum of the gap's terms, each before the step of its row
  bool any = false;    // whether some row may be skipped from now on
};

/// Ascent over any kind of rows, for any psi: Rows has dot(i, w), add(i, scale, w), fetch(i) and
/// entries(), Psi has slope(t), dual_step(t, v, step), room(t), most_threads(),
/// remaining(met, before) and cost_of(total, ...).
///
/// K threads share a sweep. Each thread has some of the rows and its own w, in which its steps
/// count K times, to allow for the steps of the others. The mean of these w is the image of all
/// steps, and since |sum a_k|^2 <= K sum |a_k|^2, the dual gains at least the sum of what the
/// threads gain. The steps may be exact for K / 2 instead of K: the rest of the dual is concave, so
/// a step that is twice too long still does not lower the dual, and for K = 2 the steps are exact
/// in the end.
template <class Rows, class Psi>
struct DualAscent {
  Rows rows;
  Psi psi;
  DualProblem problem;
  DualState state;

  double total = 0.0;  // sum_i mass_i sign_i v_i, which is 0 at the optimum with an intercept
  double last_total = 0.0;
  double threshold = 0.0;  // a row is skipped if its t is farther than this from a knot
  std::vector<std::uint8_t> skip{};
  std::atomic<bool> cut_off = false;  // whether the watch said stop

  MINIMAND_INLINE void step(std::size_t i, DualPart& part) {
    const double sign = problem.sign.data()[i];
    const double mass = problem.mass.data()[i];
    const double t = sign * (rows.dot(i, part.w) + part.b) - problem.shift.data()[i];
    double& v = state.v.data()[i];
    const double length = part.coupling > 2.0 ? 0.5 * part.coupling : 1.0;
    const double curvature = length * mass * (problem.squares.data()[i] + state.bias);
    if (!(curvature > 0.0)) {  // the objective does not depend on this row
      v = psi.slope(t);
      return note(i, std::numeric_limits<double>::infinity(), part);
    }
    const DualStep found = psi.dual_step(t, v, curvature);
    const double delta = found.slope - v;
    if (delta == 0.0) return note(i, psi.room(found.at), part);
    v = found.slope;
    const double moved = mass * sign * delta, scale = -part.coupling * moved;
    rows.add(i, scale, part.w);
    part.b += state.bias * scale;
    part.total += moved;
    part.met += mass * found.young;
    const double violation = std::abs(found.at - t);
    if (violation > part.worst) part.worst = violation;
    note(i, 0.0, part);
  }

  /// A row with more room than the threshold is skipped: its slope stays until t has moved so far.
  MINIMAND_INLINE void note(std::size_t i, double room, DualPart& part) {
    const bool skipped = room > threshold;
    skip.data()[i] = skipped;
    part.any = part.any || skipped;
  }

  MINIMAND_INLINE void sweep(DualPart& part) {
    const std::span<const std::uint32_t> order = part.rows;
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (k + kAhead < order.size()) rows.fetch(order.data()[k + kAhead]);
      step(order.data()[k], part);
    }
  }

  double first_total() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < state.v.size(); ++i) {
      sum += problem.mass.data()[i] * problem.sign.data()[i] * state.v.data()[i];
    }
    return sum;
  }

  /// Moves the centre of the intercept to its current value: the method of multipliers for total =
  /// 0. The step grows (factor 1.5) while the sum falls slowly, and shrinks (factor 0.5) when the
  /// sum changes sign. Safeguards.
  double recentre() {
    if (!problem.intercept) return 0.0;
    if (total * last_total < 0.0) {
      state.bias *= 0.5;
    } else if (std::abs(total) > 0.5 * std::abs(last_total)) {
      state.bias *= 1.5;
    }
    last_total = total;
    const double move = state.bias * total;
    state.b -= move;
    return std::abs(move);
  }

  /// The number of threads for a sweep over some rows. Copying and adding a w must cost little
  /// beside the work: 32 operations per coefficient and thread, twice what it takes. Measured: of
  /// 20000 rows of 50 numbers in 50000 columns, two threads took half as much again as one.
  std::size_t thread_count(std::size_t visited) const {
    const std::size_t most = psi.most_threads();
    if (most == 1) return 1;
    const double share = static_cast<double>(visited) / static_cast<double>(state.v.size());
    const double work = 2.0 * share * static_cast<double>(rows.entries());
    const double affordable = work / (32.0 * static_cast<double>(state.w.size() + 1));
    const std::size_t parts = std::min(most, part_count(visited, static_cast<std::size_t>(work)));
    return static_cast<double>(parts) <= affordable ? parts : 1;
  }

  /// One sweep, `kernel(ascent, part)` on each thread; the terms they met, added in order.
  template <class Kernel>
  DualPart shared_sweep(std::span<const std::uint32_t> order, std::vector<double>& copies,
                        const Kernel& kernel) {
    const std::size_t count = thread_count(order.size()), d = state.w.size();
    copies.resize((count - 1) * d);
    const std::vector<std::size_t> splits = even_splits(order.size(), count);
    std::vector<DualPart> parts;
    for (std::size_t k = 0; k < count; ++k) {
      const std::span<double> w =
          k == 0 ? state.w : std::span<double>(copies).subspan((k - 1) * d, d);
      if (k > 0) std::copy(state.w.begin(), state.w.end(), w.begin());
      parts.push_back({order.subspan(splits[k], splits[k + 1] - splits[k]), w, state.b,
                       static_cast<double>(count)});
    }
    run_parts(splits, [&](Range, std::size_t k) { in_pieces(parts[k], k == 0, kernel); });
    return together(parts);
  }

  /// The rows of one thread, until the watch says stop; only the calling thread `asks`.
  template <class Kernel>
  void in_pieces(DualPart& part, bool asks, const Kernel& kernel) {
    constexpr std::size_t kPieceWork = std::size_t{1} << 23;  // numbers, some ms; measured
    const std::span<const std::uint32_t> all = part.rows;
    const std::size_t piece = 64 + kPieceWork * state.v.size() / (rows.entries() + 1);
    std::size_t done = 0;
    while (done < all.size() && !cut_off.load(std::memory_order_relaxed)) {
      part.rows = all.subspan(done, std::min(piece, all.size() - done));
      done += part.rows.size();
      kernel(*this, part);
      if (asks && stopping()) cut_off.store(true, std::memory_order_relaxed);
    }
    part.rows = all.first(done);
  }

  static constexpr std::int64_t kParts = Psi::kParts;

  static std::span<const std::uint32_t> part_of(std::span<const std::uint32_t> visits,
                                                std::int64_t part) {
    const std::vector<std::size_t> splits = even_splits(visits.size(), kParts);
    const auto k = static_cast<std::size_t>(part);
    return visits.subspan(splits[k], splits[k + 1] - splits[k]);
  }

  /// The terms met in the sweep before the latest `latest` parts; 0 if there are too few.
  static double sum_of(std::span<const double> met, std::size_t latest) {
    if (met.size() < latest + kParts) return 0.0;
    const auto window = met.subspan(met.size() - latest - kParts, kParts);
    return std::accumulate(window.begin(), window.end(), 0.0);
  }

  /// Joins the parts: means of w and b, sums of everything else.
  DualPart together(std::span<DualPart> parts) {
    DualPart whole = parts.front();
    for (const DualPart& part : parts.subspan(1)) {
      for (std::size_t j = 0; j < whole.w.size(); ++j) whole.w[j] += part.w[j];
      whole.b += part.b;
      whole.total += part.total;
      whole.met += part.met;
      whole.worst = std::max(whole.worst, part.worst);
      whole.any = whole.any || part.any;
      whole.rows = {whole.rows.data(), whole.rows.size() + part.rows.size()};  // they are adjacent
    }
    const double share = 1.0 / static_cast<double>(parts.size());
    if (parts.size() > 1) {
      for (double& coefficient : whole.w) coefficient *= share;
    }
    state.b = share * whole.b;
    total += whole.total;
    return whole;
  }

  /// Sweeps until the terms of the gap met in a sweep add up to at most the tolerance.
  template <class Kernel>
  DualReport run(std::int64_t epochs, double tolerance, Shuffler random, const Kernel& kernel) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::size_t n = state.order.size();
    VisitingOrder order(state.order, static_cast<std::size_t>(state.active));
    std::vector<double> copies;
    skip.resize(state.v.size());
    threshold = state.threshold;
    DualReport report{state.b, state.bias, state.active, threshold, 0.0, kInfinity};
    total = last_total = first_total();
    double drift = 0.0;  // of the intercept since all rows were visited
    double worst = 0.0;
    bool any = false;
    std::vector<double> met;  // terms met, for every part of a sweep
    std::span<const std::uint32_t> visits;
    for (std::int64_t part = 0; part < epochs * kParts; ++part) {
      const bool first = part % kParts == 0, last = part % kParts == kParts - 1;
      if (first) visits = order.shuffled(random);
      const DualPart done = shared_sweep(part_of(visits, part % kParts), copies, kernel);
      report.sweeps += static_cast<double>(done.rows.size()) / static_cast<double>(n);
      if (cut_off) {
        report.gap = kInfinity;
        order.visit_all();
        break;
      }
      worst = std::max(worst, done.worst);
      any = any || done.any;
      met.push_back(done.met);
      double move = 0.0;
      if (last) {
        if (any) order.keep([this](std::uint32_t row) { return skip[row] != 0; });
        move = recentre();
        drift = order.count() == n ? 0.0 : drift + move;
        if (order.count() == 0 || drift > threshold) order.visit_all();
        threshold = worst + move > 0.0 ? worst + move : kInfinity;
        worst = 0.0;
        any = false;
      }
      if (part + 1 < kParts) continue;
      report.gap = psi.remaining(sum_of(met, 0), sum_of(met, kParts));
      if (problem.intercept) {
        report.gap += psi.cost_of(total, problem.reach, problem.mass, state.v);
      }
      if (report.gap <= tolerance) {
        order.visit_all();  // the skipped ones may have moved: visit them in the next run
        break;
      }
    }
    report.b = state.b;
    report.bias = state.bias;
    report.active = static_cast<std::int64_t>(order.count());
    report.threshold = threshold;
    return report;
  }
};

}  // namespace minimand
