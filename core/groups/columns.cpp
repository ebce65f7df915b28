#include "groups/columns.hpp"

#include <algorithm>
#include <vector>

namespace minimand {
namespace {

template <class Scalar, class Index>
struct SparseEntries {
  std::span<const Scalar> values;
  std::span<const Index> indices;

  MINIMAND_INLINE std::size_t size() const { return values.size(); }
  MINIMAND_INLINE std::size_t row(std::size_t k) const {
    return static_cast<std::size_t>(indices.data()[k]);
  }
  MINIMAND_INLINE double value(std::size_t k) const {
    return static_cast<double>(values.data()[k]);
  }
};

template <class Scalar>
struct DenseEntries {
  std::span<const Scalar> values;

  MINIMAND_INLINE std::size_t size() const { return values.size(); }
  MINIMAND_INLINE std::size_t row(std::size_t k) const { return k; }
  MINIMAND_INLINE double value(std::size_t k) const {
    return static_cast<double>(values.data()[k]);
  }
};

/// The rows' slopes q and curvatures, `scores` numbers each.
struct ScoreRows {
  std::span<double> q;
  ScoreCurvature curvature;
  std::size_t scores;

  MINIMAND_INLINE bool joint() const { return !curvature.scale.empty(); }

  /// A diagonal that is nowhere less curved than row i. For shares p these are p or 2p(1 - p): the
  /// latter is smaller if one share is above one half.
  MINIMAND_INLINE void bound(std::size_t i, double* to) const {
    const double* const h = curvature.h.data() + i * scores;
    if (!joint()) {
      for (std::size_t c = 0; c < scores; ++c) to[c] = h[c];
      return;
    }
    double most = 0.0;
    for (std::size_t c = 0; c < scores; ++c) most = h[c] > most ? h[c] : most;
    const double scale = curvature.scale.data()[i];
    for (std::size_t c = 0; c < scores; ++c) {
      to[c] = scale * (most > 0.5 ? 2.0 * h[c] * (1.0 - h[c]) : h[c]);
    }
  }

  /// q += x H delta for row i.
  MINIMAND_INLINE void move(std::size_t i, double x, const double* __restrict delta) {
    double* __restrict to = q.data() + i * scores;
    const double* __restrict h = curvature.h.data() + i * scores;
    if (!joint()) {
      for (std::size_t c = 0; c < scores; ++c) to[c] += x * h[c] * delta[c];
      return;
    }
    double mean = 0.0;
    for (std::size_t c = 0; c < scores; ++c) mean += h[c] * delta[c];
    const double scaled = x * curvature.scale.data()[i];
    for (std::size_t c = 0; c < scores; ++c) to[c] += scaled * h[c] * (delta[c] - mean);
  }
};

/// Steps over groups of columns; the bends of a group are bounded by their sum over its columns.
template <class Entries>
struct ColumnGroups {
  std::span<const Entries> columns;
  ScoreRows rows;
  std::span<const double> inverse;
  std::span<double> w;
  std::span<double> shift;
  const GroupPenalties& penalties;
  std::vector<double> bends;  // by group and score
  std::vector<double> sizes;  // by group: squared length, which says whether it is zero
  std::vector<double> slope, bend, next, delta;

  /// Takes the best step of the intercepts.
  MINIMAND_INLINE void begin_full_sweep() {
    const std::size_t scores = rows.scores, n = rows.q.size() / scores;
    if (inverse.empty()) return;
    double* const total = slope.data();
    double* const move = delta.data();
    for (std::size_t c = 0; c < scores; ++c) total[c] = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t c = 0; c < scores; ++c) total[c] += rows.q.data()[i * scores + c];
    }
    for (std::size_t c = 0; c < scores; ++c) {
      move[c] = 0.0;
      for (std::size_t e = 0; e < scores; ++e) move[c] -= inverse.data()[c * scores + e] * total[e];
      shift.data()[c] += move[c];
    }
    for (std::size_t i = 0; i < n; ++i) rows.move(i, 1.0, move);
  }

  MINIMAND_INLINE double step(std::size_t g) {
    const std::size_t scores = rows.scores, begin = penalties.begin(g);
    const std::size_t count = penalties.rows_of(g), size = count * scores;
    double* const value = w.data() + begin;
    const double* const l2 = penalties.l2.data() + begin;
    for (std::size_t r = 0; r < count; ++r) {
      gradient(columns.data()[penalties.first_row(g) + r], slope.data() + r * scores);
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double own = bends.data()[g * scores + i % scores];
      slope.data()[i] = own * value[i] - slope.data()[i];
      bend.data()[i] = own + l2[i];
    }
    block_minimiser(slope.data(), bend.data(), penalties.l1.data() + begin,
                    penalties.norm.data()[g], size, next.data());
    double decrease = 0.0, square = 0.0;
    for (std::size_t r = 0; r < count; ++r) {
      bool moved = false;
      for (std::size_t c = 0; c < scores; ++c) {
        const std::size_t i = r * scores + c;
        const double change = bend.data()[i] > 0.0 ? next.data()[i] - value[i] : 0.0;
        delta.data()[c] = change;
        moved |= change != 0.0;
        decrease += 0.5 * bend.data()[i] * change * change;
        value[i] += change;
        if (next.data()[i] == 0.0 && bend.data()[i] > 0.0) value[i] = 0.0;
        square += value[i] * value[i];
      }
      if (moved) add(columns.data()[penalties.first_row(g) + r], delta.data());
    }
    sizes.data()[g] = square;
    return decrease;
  }

  MINIMAND_INLINE void gradient(const Entries& column, double* __restrict to) const {
    const std::size_t scores = rows.scores;
    for (std::size_t c = 0; c < scores; ++c) to[c] = 0.0;
    for (std::size_t k = 0; k < column.size(); ++k) {
      const double x = column.value(k);
      const double* __restrict from = rows.q.data() + column.row(k) * scores;
      for (std::size_t c = 0; c < scores; ++c) to[c] += x * from[c];
    }
  }

  MINIMAND_INLINE void add(const Entries& column, const double* change) {
    for (std::size_t k = 0; k < column.size(); ++k) {
      rows.move(column.row(k), column.value(k), change);
    }
  }

  /// Fills in the bends of the groups and their lengths.
  MINIMAND_INLINE void describe() {
    const std::size_t scores = rows.scores;
    for (std::size_t g = 0; g < penalties.count(); ++g) {
      double* const to = bends.data() + g * scores;
      for (std::size_t c = 0; c < scores; ++c) to[c] = 0.0;
      for (std::size_t r = 0; r < penalties.rows_of(g); ++r) {
        const Entries& column = columns.data()[penalties.first_row(g) + r];
        for (std::size_t k = 0; k < column.size(); ++k) {
          const double x = column.value(k);
          rows.bound(column.row(k), delta.data());
          for (std::size_t c = 0; c < scores; ++c) to[c] += x * x * delta.data()[c];
        }
      }
      sizes.data()[g] = squared_length(w.data() + penalties.begin(g), penalties.size_of(g));
    }
  }
};

template <class Entries>
MINIMAND_INLINE SweepReport run(ColumnGroups<Entries>& groups, StopRule stop,
                                std::span<std::size_t> active) {
  groups.describe();
  const SweepReport report =
      sweep_until_settled(one_by_one(groups, groups.sizes.size()), groups.sizes, active, stop);
  groups.begin_full_sweep();
  return report;
}

// Clones need a name of their own for every type.
#define MINIMAND_KERNEL(Scalar, Index)                                                     \
  MINIMAND_CLONES SweepReport group_kernel(ColumnGroups<SparseEntries<Scalar, Index>>& g,  \
                                           StopRule stop, std::span<std::size_t> active) { \
    return run(g, stop, active);                                                           \
  }
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_KERNEL)
#undef MINIMAND_KERNEL
#define MINIMAND_KERNEL(Scalar)                                                                  \
  MINIMAND_CLONES SweepReport group_kernel(ColumnGroups<DenseEntries<Scalar>>& g, StopRule stop, \
                                           std::span<std::size_t> active) {                      \
    return run(g, stop, active);                                                                 \
  }
MINIMAND_KERNEL(float)
MINIMAND_KERNEL(double)
#undef MINIMAND_KERNEL

template <class Entries>
SweepReport descend_all(std::span<const Entries> columns, ScoreCurvature curvature,
                        std::span<const double> inverse, std::span<double> q, std::span<double> w,
                        std::span<double> shift, const GroupPenalties& penalties, StopRule stop) {
  std::size_t largest = penalties.scores;
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    largest = std::max(largest, penalties.size_of(g));
  }
  const auto room = [&] { return std::vector<double>(largest); };
  ColumnGroups<Entries> groups{columns,
                               {q, curvature, penalties.scores},
                               inverse,
                               w,
                               shift,
                               penalties,
                               std::vector<double>(penalties.count() * penalties.scores),
                               std::vector<double>(penalties.count()),
                               room(),
                               room(),
                               room(),
                               room()};
  std::vector<std::size_t> active(penalties.count());
  return group_kernel(groups, stop, active);
}

}  // namespace

template <class Scalar, class Index>
SweepReport descend_groups(const Compressed<Scalar, Index>& matrix,
                           std::span<const std::int64_t> chosen, ScoreCurvature curvature,
                           std::span<const double> inverse, std::span<double> q,
                           std::span<double> w, std::span<double> shift,
                           const GroupPenalties& penalties, StopRule stop) {
  std::vector<SparseEntries<Scalar, Index>> columns;
  columns.reserve(chosen.size());
  for (const std::int64_t index : chosen) {
    const auto major = static_cast<std::size_t>(index);
    columns.push_back({matrix.values_of(major), matrix.indices_of(major)});
  }
  return descend_all(std::span<const SparseEntries<Scalar, Index>>(columns), curvature, inverse, q,
                     w, shift, penalties, stop);
}

template <class Scalar>
SweepReport descend_groups(const DenseMatrix<Scalar>& matrix, std::span<const std::int64_t> chosen,
                           ScoreCurvature curvature, std::span<const double> inverse,
                           std::span<double> q, std::span<double> w, std::span<double> shift,
                           const GroupPenalties& penalties, StopRule stop) {
  std::vector<DenseEntries<Scalar>> columns;
  columns.reserve(chosen.size());
  for (const std::int64_t index : chosen) {
    columns.push_back({matrix.line(static_cast<std::size_t>(index))});
  }
  return descend_all(std::span<const DenseEntries<Scalar>>(columns), curvature, inverse, q, w,
                     shift, penalties, stop);
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                                             \
  template SweepReport descend_groups(                                                  \
      const Compressed<Scalar, Index>&, std::span<const std::int64_t>, ScoreCurvature,  \
      std::span<const double>, std::span<double>, std::span<double>, std::span<double>, \
      const GroupPenalties&, StopRule);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)
#undef MINIMAND_INSTANTIATE
#define MINIMAND_INSTANTIATE(Scalar)                                                               \
  template SweepReport descend_groups(const DenseMatrix<Scalar>&, std::span<const std::int64_t>,   \
                                      ScoreCurvature, std::span<const double>, std::span<double>,  \
                                      std::span<double>, std::span<double>, const GroupPenalties&, \
                                      StopRule);
MINIMAND_INSTANTIATE(float)
MINIMAND_INSTANTIATE(double)

}  // namespace minimand
