#include "dual/class_rows.hpp"

#include <numeric>

#include "common/row_kernels.hpp"
#include "common/watch.hpp"
#include "dual/class_margins.hpp"
#include "dual/order.hpp"

namespace minimand {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kFetchedAhead = 2;  // visits ahead that W is prefetched; safeguard
constexpr std::size_t kMostLines = 1024;  // of W that are prefetched for a row; safeguard: L1 size

/// z_c += x_j W_jc over the entries of a row, for L vectors of classes from `from` on.
template <std::size_t L, class Row>
MINIMAND_INLINE void add_lanes(const Row& row, const double* w, std::size_t k, std::size_t from,
                               double* z) {
  Lanes sums[L];
  for (std::size_t l = 0; l < L; ++l) sums[l] = load_lanes(z + from + l * kLanes);
  for (std::size_t e = 0; e < row.size(); ++e) {
    const double* const line = w + row.column(e) * k + from;
    const Lanes x = same_lanes(row.value(e));
    for (std::size_t l = 0; l < L; ++l) sums[l] += x * load_lanes(line + l * kLanes);
  }
  for (std::size_t l = 0; l < L; ++l) store_lanes(z + from + l * kLanes, sums[l]);
}

/// z += x W for one row.
template <class Row>
MINIMAND_INLINE void add_scores(const Row& row, const double* w, std::size_t k, double* z) {
  std::size_t from = 0;
  for (; from + 8 * kLanes <= k; from += 8 * kLanes) add_lanes<8>(row, w, k, from, z);
  for (; from + 4 * kLanes <= k; from += 4 * kLanes) add_lanes<4>(row, w, k, from, z);
  for (; from + kLanes <= k; from += kLanes) add_lanes<1>(row, w, k, from, z);
  for (; from < k; ++from) {
    for (std::size_t e = 0; e < row.size(); ++e)
      z[from] += row.value(e) * w[row.column(e) * k + from];
  }
}

template <class Matrix>
struct ClassAscent {
  Matrix matrix;
  ClassProblem problem;
  ClassState state;
  OrderedWeights weights;
  std::size_t k;
  MarginSpace space;
  std::vector<double> z, t, aim, next, total, last_total;
  std::vector<std::uint32_t> changed;
  std::vector<std::uint8_t> skip;
  double threshold = 0.0, worst = 0.0, met = 0.0;
  bool any = false;

  ClassAscent(const Matrix& rows, const ClassProblem& what, const ClassState& at)
      : matrix(rows),
        problem(what),
        state(at),
        weights(what.weights),
        k(at.b.size()),
        space(k),
        z(k),
        t(k),
        aim(k),
        next(k),
        total(k),
        last_total(k),
        changed(k),
        skip(what.y.size()) {}

  /// Prefetches the part of W that a row will read.
  MINIMAND_INLINE void fetch(std::size_t i) const {
    const auto row = row_of(matrix, i);
    if (!row.kSparse) return;
    const std::size_t per = k * sizeof(double) / kLine + 1;
    const std::size_t most = row.size() * per > kMostLines ? kMostLines / per : row.size();
    for (std::size_t e = 0; e < most; ++e) {
      const auto* const line = reinterpret_cast<const char*>(state.w.data() + row.column(e) * k);
      for (std::size_t p = 0; p < per; ++p) __builtin_prefetch(line + p * kLine);
    }
  }

  MINIMAND_INLINE void step(std::size_t i) {
    const auto row = row_of(matrix, i);
    const auto y = static_cast<std::size_t>(problem.y.data()[i]);
    double* const u = state.u.data() + i * k;
    const double mass = problem.mass.data()[i];
    for (std::size_t c = 0; c < k; ++c) z.data()[c] = state.b.data()[c];
    if (!problem.offset.empty()) {
      for (std::size_t c = 0; c < k; ++c) z.data()[c] += problem.offset.data()[i * k + c];
    }
    add_scores(row, state.w.data(), k, z.data());
    const double* const cost = problem.cost.data() + y * k;
    const double own = z.data()[y];
    const double curvature = mass * (problem.squares.data()[i] + state.bias);
    // A row without curvature, which scores do not depend on, jumps to a slope at its margins.
    const double inverse = curvature > 0.0 ? 1.0 / curvature : 1e15;  // safeguard
    for (std::size_t c = 0; c < k; ++c) {
      t.data()[c] = cost[c] + z.data()[c] - own;
      aim.data()[c] = u[c] + t.data()[c] * inverse;
    }
    project_margins(aim.data(), k, y, weights, space, next.data());
    std::size_t count = 0;
    double most = 0.0;
    for (std::size_t c = 0; c < k; ++c) {
      const double delta = next.data()[c] - u[c];
      next.data()[c] = delta;
      changed.data()[count] = static_cast<std::uint32_t>(c);
      count += delta != 0.0;
      most = std::abs(delta) > most ? std::abs(delta) : most;
    }
    const MarginTerm term = margin_term(t.data(), u, k, y, weights, space);
    if (count == 0) return note(i, term.room);
    met += mass * term.young;
    const double moved = 2.0 * curvature * most;  // of the difference of two scores, at most
    worst = moved > worst ? moved : worst;
    move(row, mass, u, count);
    note(i, 0.0);
  }

  /// u += next, and W, b and the total with it.
  template <class Row>
  MINIMAND_INLINE void move(const Row& row, double mass, double* u, std::size_t count) {
    for (std::size_t m = 0; m < count; ++m) {
      const std::size_t c = changed.data()[m];
      const double delta = mass * next.data()[c];
      u[c] += next.data()[c];
      total.data()[c] += delta;
      state.b.data()[c] -= state.bias * delta;
      next.data()[c] = delta;
    }
    const bool few = 4 * count <= k;  // safeguard: then single numbers are cheaper than vectors
    for (std::size_t e = 0; e < row.size(); ++e) {
      const std::size_t j = row.column(e);
      const double by =
          problem.inverse.size() == 1 ? problem.inverse.data()[0] : problem.inverse.data()[j];
      const double scale = -by * row.value(e);
      double* const __restrict line = state.w.data() + j * k;
      const double* const __restrict delta = next.data();
      if (few) {
        for (std::size_t m = 0; m < count; ++m) {
          const std::size_t c = changed.data()[m];
          line[c] += scale * delta[c];
        }
      } else {
        for (std::size_t c = 0; c < k; ++c) line[c] += scale * delta[c];
      }
    }
  }

  MINIMAND_INLINE void note(std::size_t i, double room) {
    const bool skipped = room > threshold;
    skip.data()[i] = skipped;
    any = any || skipped;
  }

  MINIMAND_INLINE void sweep(std::span<const std::uint32_t> rows) {
    for (std::size_t m = 0; m < rows.size(); ++m) {
      if (m + 2 * kFetchedAhead < rows.size()) row_of(matrix, rows[m + 2 * kFetchedAhead]).fetch();
      if (m + kFetchedAhead < rows.size()) fetch(rows[m + kFetchedAhead]);
      step(rows[m]);
    }
  }

  void first_total() {
    std::fill(total.begin(), total.end(), 0.0);
    for (std::size_t i = 0; i < problem.y.size(); ++i) {
      for (std::size_t c = 0; c < k; ++c) total[c] += problem.mass[i] * state.u[i * k + c];
    }
  }

  /// Lets the mean follow u after a sweep, at once while the terms of the gap fall fast.
  void follow(double before) {
    const double share = met < 0.8 * before ? 1.0 : 0.25;  // of the latest u; safeguard
    double* const __restrict mean = state.mean.data();
    const double* const __restrict u = state.u.data();
    for (std::size_t e = 0; e < state.u.size(); ++e) mean[e] += share * (u[e] - mean[e]);
  }

  /// Moves the centre of the intercepts to their current values: the method of multipliers for
  /// total = 0. The step grows (factor 1.5) while the sum falls slowly, and shrinks (factor 0.5)
  /// when the sum turns round. Safeguards. A sum that is only rounding is no reason for a step.
  double recentre() {
    constexpr double kRounding = 16.0 * std::numeric_limits<double>::epsilon();
    if (!problem.intercept) return 0.0;
    double now = 0.0, before = 0.0, across = 0.0, most = 0.0;
    for (std::size_t c = 0; c < k; ++c) {
      now += total[c] * total[c];
      before += last_total[c] * last_total[c];
      across += total[c] * last_total[c];
    }
    double largest = 0.0;  // of a multiplier, and so of the sum, as the masses add up to one
    for (const double weight : weights.values) largest += weight;
    if (now <= kRounding * kRounding * largest * largest) return 0.0;
    if (across < 0.0) {
      state.bias *= 0.5;
    } else if (now > 0.25 * before) {
      state.bias *= 1.5;
    }
    last_total = total;
    for (std::size_t c = 0; c < k; ++c) {
      const double by = state.bias * total[c];
      state.b[c] -= by;
      most = std::max(most, 2.0 * std::abs(by));
    }
    return most;
  }

  double imbalance() const {
    double sum = 0.0;
    for (const double one : total) sum += std::abs(one);
    return problem.reach * sum;
  }

  /// Sweeps until the terms of the gap met in a sweep add up to at most the tolerance.
  template <class Kernel>
  ClassReport run(std::int64_t epochs, double tolerance, Shuffler random, const Kernel& kernel) {
    constexpr std::size_t kPiece = 1024;  // rows between two questions whether to stop; safeguard
    const std::size_t n = state.order.size();
    VisitingOrder order(state.order, static_cast<std::size_t>(state.active));
    threshold = state.threshold;
    first_total();
    last_total = total;
    ClassReport report{state.bias, state.active, threshold, 0.0, kInfinity};
    double drift = 0.0;         // of the intercepts since all rows were visited
    double before = kInfinity;  // the terms that the last sweep met
    bool cut_off = false;
    for (std::int64_t epoch = 0; epoch < epochs && !cut_off; ++epoch) {
      const std::span<const std::uint32_t> visits = order.shuffled(random);
      worst = met = 0.0;
      any = false;
      for (std::size_t from = 0; from < visits.size() && !cut_off; from += kPiece) {
        kernel(*this, visits.subspan(from, std::min(kPiece, visits.size() - from)));
        cut_off = stopping();
      }
      report.sweeps += static_cast<double>(visits.size()) / static_cast<double>(n);
      follow(before);
      before = met;
      if (any) order.keep([this](std::uint32_t row) { return skip[row] != 0; });
      const double shift = recentre();
      drift = order.count() == n ? 0.0 : drift + shift;
      if (order.count() == 0 || drift > threshold) order.visit_all();
      threshold = worst + shift > 0.0 ? worst + shift : kInfinity;
      report.gap = met + (problem.intercept ? imbalance() : 0.0);
      if (cut_off) break;
      if (report.gap > tolerance) continue;
      // Rows that were left out may have moved meanwhile: they must meet the tolerance, too.
      if (visits.size() == n) break;
      order.visit_all();
    }
    if (cut_off) report.gap = kInfinity;
    if (cut_off || report.gap <= tolerance) order.visit_all();  // the skipped ones may have moved
    report.bias = state.bias;
    report.active = static_cast<std::int64_t>(order.count());
    report.threshold = threshold;
    return report;
  }
};

#define MINIMAND_KERNEL(Matrix)                                            \
  MINIMAND_CLONES void sweep_kernel(ClassAscent<Matrix>& ascent,           \
                                    std::span<const std::uint32_t> rows) { \
    ascent.sweep(rows);                                                    \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_KERNEL)

MINIMAND_CLONES void project_row(const double* u, std::size_t k, std::size_t y,
                                 const OrderedWeights& weights, MarginSpace& space,
                                 double* result) {
  project_margins(u, k, y, weights, space, result);
}

}  // namespace

#define MINIMAND_INSTANTIATE(Matrix)                                                              \
  template <>                                                                                     \
  ClassReport ascend_classes(const Matrix& matrix, const ClassProblem& problem, ClassState state, \
                             std::int64_t epochs, double tolerance, std::uint64_t seed) {         \
    ClassAscent<Matrix> ascent(matrix, problem, state);                                           \
    return ascent.run(                                                                            \
        epochs, tolerance, Shuffler::of(seed),                                                    \
        [](auto& of, std::span<const std::uint32_t> rows) { sweep_kernel(of, rows); });           \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_INSTANTIATE)

void project_classes(std::span<const double> u, std::span<const std::int64_t> y,
                     std::span<const double> weights, std::span<double> result) {
  const std::size_t n = y.size(), k = weights.size() + 1;
  const OrderedWeights ordered(weights);
  parallel_ranges(n, n * k * 8, [&](Range range, std::size_t) {
    MarginSpace space(k);
    for (std::size_t i = range.begin; i < range.end; ++i) {
      project_row(u.data() + i * k, k, static_cast<std::size_t>(y[i]), ordered, space,
                  result.data() + i * k);
    }
  });
}

}  // namespace minimand
