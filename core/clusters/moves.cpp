#include "clusters/moves.hpp"

#include <vector>

#include "clusters/panels.hpp"
#include "common/watch.hpp"

namespace minimand {

/// Clusters that rows leave and join.
struct MovingClusters {
  std::span<const double> weights;  // of rows; empty: 1
  std::span<double> centers, masses, wholes;
  std::span<std::int64_t> members;  // rows of positive weight
  std::span<std::int32_t> labels;
};

#define MINIMAND_DECLARE(Matrix) \
  std::size_t move_some(const Matrix& matrix, Range range, const MovingClusters& clusters);
MINIMAND_FOR_EACH_ROWS(MINIMAND_DECLARE)
#undef MINIMAND_DECLARE

namespace {

constexpr std::size_t kChunk = 1024;  // rows between two questions whether to stop; safeguard
constexpr double kUnit = 0x1p-50;     // four times the rounding of a distance, per term; safeguard

/// A cluster changes its mean by a share of the way to a row; a negative share leaves the row.
template <class Row>
MINIMAND_INLINE void shift_center(const Row& row, const MovingClusters& clusters, std::size_t c,
                                  double share) {
  const std::size_t d = clusters.centers.size() / clusters.masses.size();
  double* const __restrict center = clusters.centers.data() + c * d;
  for (std::size_t j = 0; j < d; ++j) center[j] *= 1.0 - share;
  row.add_to({center, d}, share);
  clusters.wholes.data()[c] = dot(center, center, d);
}

template <class Matrix>
MINIMAND_INLINE std::size_t move_all(const Matrix& matrix, Range range,
                                     const MovingClusters& clusters) {
  const std::size_t k = clusters.masses.size(), d = clusters.centers.size() / k;
  const double unit = kUnit * static_cast<double>(d + 8);
  double* const masses = clusters.masses.data();
  std::size_t moved = 0;
  for (std::size_t i = range.begin; i < range.end; ++i) {
    const double w = clusters.weights.empty() ? 1.0 : clusters.weights.data()[i];
    const auto a = static_cast<std::size_t>(clusters.labels.data()[i]);
    const double rest = masses[a] - w;
    if (w == 0.0 || clusters.members.data()[a] < 2 || rest <= 0.0) continue;
    const auto row = row_of(matrix, i);
    const double own =
        direct<Dots>(row, 1.0, clusters.centers.data() + a * d, clusters.wholes.data()[a]);
    const double saved = masses[a] / rest * own;
    // Distances of sparse rows are differences of larger numbers, and rounded like these.
    const double size = RowOf<Matrix>::kSparse ? square(row) : 0.0;
    std::size_t best = a;
    double least = saved, noise = 0.0;
    for (std::size_t b = 0; b < k; ++b) {
      if (b == a) continue;
      const double whole = clusters.wholes.data()[b];
      const double share = masses[b] / (masses[b] + w);
      const double cost = share * direct<Dots>(row, 1.0, clusters.centers.data() + b * d, whole);
      if (cost < least) {
        best = b;
        least = cost;
        noise = RowOf<Matrix>::kSparse ? size + whole : cost;
      }
    }
    noise += RowOf<Matrix>::kSparse ? masses[a] / rest * (size + clusters.wholes.data()[a]) : saved;
    if (best == a || saved - least <= unit * noise) continue;
    shift_center(row, clusters, a, -w / rest);
    shift_center(row, clusters, best, w / (masses[best] + w));
    masses[a] = rest;
    masses[best] += w;
    --clusters.members.data()[a];
    ++clusters.members.data()[best];
    clusters.labels.data()[i] = static_cast<std::int32_t>(best);
    ++moved;
  }
  return moved;
}

}  // namespace

#define MINIMAND_DEFINE(Matrix)                                            \
  MINIMAND_CLONES std::size_t move_some(const Matrix& matrix, Range range, \
                                        const MovingClusters& clusters) {  \
    return move_all(matrix, range, clusters);                              \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_DEFINE)
#undef MINIMAND_DEFINE

template <class Matrix>
std::size_t move_rows(const Matrix& matrix, std::span<const double> weights,
                      std::span<double> centers, std::span<double> masses,
                      std::span<std::int32_t> labels) {
  const std::size_t k = masses.size(), d = centers.size() / k, n = labels.size();
  std::vector<double> wholes(k);
  for (std::size_t c = 0; c < k; ++c) {
    wholes[c] = dot(centers.data() + c * d, centers.data() + c * d, d);
  }
  std::vector<std::int64_t> members(k, 0);
  for (std::size_t i = 0; i < n; ++i) {
    if (weights.empty() || weights[i] > 0.0) ++members[static_cast<std::size_t>(labels[i])];
  }
  const MovingClusters clusters{weights, centers, masses, wholes, members, labels};
  std::size_t moved = 0;
  for (std::size_t begin = 0; begin < n && !stopping(); begin += kChunk) {
    moved += move_some(matrix, {begin, std::min(begin + kChunk, n)}, clusters);
  }
  return moved;
}

#define MINIMAND_INSTANTIATE(Matrix)                                                        \
  template std::size_t move_rows(const Matrix&, std::span<const double>, std::span<double>, \
                                 std::span<double>, std::span<std::int32_t>);
MINIMAND_FOR_EACH_ROWS(MINIMAND_INSTANTIATE)

}  // namespace minimand
