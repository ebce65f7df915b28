#include "clusters/seeding.hpp"

#include <algorithm>
#include <cmath>

#include "clusters/loops.hpp"
#include "common/watch.hpp"

namespace minimand {

/// One round: the costs of all rows if one of some candidates became a centre. Costs of few rows
/// are kept for every candidate; of many, the centre of the round before is the first candidate,
/// since its costs are not stored before it has been chosen.
template <class Matrix>
struct SeedingRound {
  using Scalar = ScalarOf<Matrix>;
  const Matrix& matrix;
  std::span<const double> weights, factors, squares;
  std::span<const float> sizes;
  const Panels<Scalar>& panels;
  std::span<const double> candidates, wholes;  // the candidates as centres
  double unit, largest_center, largest_offset;
  std::size_t width;        // candidates, in whole vectors
  bool first;               // whether costs leave out no centre
  std::span<Scalar> costs;  // of every row at the nearest centre but the last
  std::span<Scalar>
      tried;  // costs of every row with every candidate, `width` each; empty: not kept
};

#define MINIMAND_DECLARE(Matrix) \
  void cost_rows(const SeedingRound<Matrix>& round, Measure measure, Range range, double* piece);
MINIMAND_FOR_EACH_ROWS(MINIMAND_DECLARE)
#undef MINIMAND_DECLARE

namespace {

constexpr std::size_t kSeedBlock = 1024;  // rows of a partial sum; safeguard: fits a cache

/// The cost of a row at a candidate by differences: rows that equal a centre cost nothing, and must
/// not be drawn again because of rounding.
template <class Metric, class Matrix>
MINIMAND_INLINE double exact_cost(const SeedingRound<Matrix>& round, std::size_t i, std::size_t t) {
  const std::size_t d = round.candidates.size() / round.wholes.size();
  const double factor = round.factors.empty() ? 1.0 : round.factors.data()[i];
  return direct<Metric>(row_of(round.matrix, i), factor, round.candidates.data() + t * d,
                        round.wholes.data()[t]);
}

/// From the scores of a row: its cost at the candidates of a vector, those in `places`.
template <class Metric, class Matrix, class Scalar = ScalarOf<Matrix>>
MINIMAND_INLINE Values<Scalar> costs_of(const SeedingRound<Matrix>& round, std::size_t i,
                                        Values<Scalar> scores, Range places) {
  Values<Scalar> costs = -scores;
  double error = 8.0 * round.unit * round.largest_offset;
  if constexpr (Metric::kSquared) {
    const double factor = round.factors.empty() ? 1.0 : round.factors.data()[i];
    const double square = round.squares.data()[i];
    costs = static_cast<Scalar>(square) - static_cast<Scalar>(2.0 * factor) * scores;
    const double size = static_cast<double>(round.sizes.data()[i]);
    error += 8.0 * round.unit * (size * round.largest_center + square);
  }
  const auto doubtful = static_cast<Scalar>(error);
  if (greatest<Scalar>(doubtful - costs) >= Scalar{0}) {
    for (std::size_t t = places.begin; t < places.end; ++t) {
      if (costs[t - places.begin] > doubtful) continue;
      costs[t - places.begin] = static_cast<Scalar>(exact_cost<Metric>(round, i, t));
    }
  }
  return costs;
}

template <class Metric, class Matrix>
MINIMAND_INLINE void cost_all(const SeedingRound<Matrix>& round, Range range, double* piece) {
  using Scalar = ScalarOf<Matrix>;
  constexpr std::size_t kRows = TypesOf<Matrix>::kRows, kHalf = kWide<Scalar>;
  for (std::size_t t = 0; t < round.width; ++t) piece[t] = 0.0;
  for (std::size_t i = range.begin; i < range.end; i += kRows) {
    std::uint32_t rows[kRows];
    Scalar before[kRows];
    for (std::size_t r = 0; r < kRows; ++r) {
      rows[r] = static_cast<std::uint32_t>(std::min(i + r, range.end - 1));
      before[r] = round.costs.data()[rows[r]];
    }
    const std::size_t count = std::min(kRows, range.end - i);
    ScoreTile<Scalar, kRows> tile;
    for (std::size_t t = 0; t < round.width; t += kHalf) {
      const std::size_t p = t / kPanel<Scalar>;
      const bool upper_half = t % kPanel<Scalar> != 0;
      if (!upper_half) {  // a tile holds both halves
        score<Metric>(round.matrix, rows, round.panels.entries(p), round.panels.offsets(p), tile);
      }
      Values<Scalar> sum = {};
      for (std::size_t r = 0; r < count; ++r) {
        const std::size_t row = rows[r];
        Values<Scalar> costs = costs_of<Metric>(round, row, upper_half ? tile.high[r] : tile.low[r],
                                                {t, std::min(t + kHalf, round.wholes.size())});
        if (t == 0 && !round.first) {
          before[r] = costs[0] < before[r] ? costs[0] : before[r];
          round.costs.data()[row] = before[r];
        }
        costs = costs < before[r] ? costs : before[r] + Values<Scalar>{};
        if (!round.tried.empty()) {
          __builtin_memcpy(round.tried.data() + row * round.width + t, &costs, sizeof costs);
        }
        const double weight = round.weights.empty() ? 1.0 : round.weights.data()[row];
        sum += static_cast<Scalar>(weight) * costs;
      }
      for (std::size_t lane = 0; lane < kHalf; ++lane) {
        piece[t + lane] += static_cast<double>(sum[lane]);
      }
    }
  }
}

/// The rows and what is known of them, and the rounds.
template <class Matrix>
class Seeding {
 public:
  using Scalar = ScalarOf<Matrix>;

  Seeding(const Matrix& matrix, std::size_t n, std::size_t d, const SearchSettings& settings,
          std::size_t trials)
      : matrix_(matrix),
        n_(n),
        d_(d),
        settings_(settings),
        width_((trials + kWide<Scalar>) / kWide<Scalar> * kWide<Scalar>),
        costs_(n, -kWorst<Scalar>),
        pieces_((n + kSeedBlock - 1) / kSeedBlock * width_),
        sizes_(n, 0.0f) {
    // Draws cost their blocks anew. Where that would be most of the rows, costs are kept instead.
    keeps_ = pieces_.size() <= trials * width_;
    if (keeps_) tried_.resize(n * width_);
    if (settings.measure != Measure::squares) return;
    squares_.resize(n);
    parallel_ranges(n, 2 * stored_numbers(matrix), [&](Range range, std::size_t) {
      size_rows(matrix_, settings_.factors, settings_.middle, false, range, squares_, sizes_);
    });
  }

  /// Costs of all rows for each of these candidates; the one with the least total.
  std::size_t best_of(std::span<const std::size_t> candidates) {
    std::vector<std::size_t> tried(candidates.begin(), candidates.end());
    const bool again = !first_ && !keeps_;
    if (again) tried.insert(tried.begin(), center_);
    pack(tried);
    const SeedingRound<Matrix> round = round_of();
    GiveUp give_up;
    const std::size_t blocks = pieces_.size() / width_;
    const std::size_t work = stored_numbers(matrix_) * (candidates.size() + 1) + 8 * n_;
    parallel_ranges(blocks, work, [&](Range range, std::size_t part) {
      for (std::size_t b = range.begin; b < range.end && !give_up.leaves(part); ++b) {
        cost_rows(round, settings_.measure, {b * kSeedBlock, std::min((b + 1) * kSeedBlock, n_)},
                  pieces_.data() + b * width_);
      }
    });
    give_up.throw_if_left();
    last_ = again ? 1 : 0;
    for (std::size_t t = last_ + 1; t < tried.size(); ++t) {
      if (total(t) < total(last_)) last_ = t;
    }
    first_ = false;
    center_ = tried[last_];
    if (keeps_) {
      for (std::size_t i = 0; i < n_; ++i) costs_[i] = tried_[i * round.width + last_];
    } else {
      pack({&center_, 1});
    }
    return center_;
  }

  /// The row at a share of the total cost, in the order of rows; `otherwise` if all cost nothing.
  std::size_t row_at(double share, std::size_t otherwise) {
    double target = share * total(last_);
    std::size_t last = n_;
    for (std::size_t b = 0; b * width_ < pieces_.size(); ++b) {
      const double here = pieces_[b * width_ + last_];
      if (!(here > 0.0)) continue;
      if (here >= target) return row_in(b, target);
      target -= here;
      last = b;
    }
    // By rounding, the target may lie beyond the end.
    return last == n_ ? otherwise : row_in(last, std::numeric_limits<double>::infinity());
  }

 private:
  /// The first row of a block at which the sum of costs reaches the target, or the last that costs
  /// anything.
  std::size_t row_in(std::size_t block, double target) {
    double sum = 0.0;
    std::size_t found = block * kSeedBlock;
    const std::size_t end = std::min(found + kSeedBlock, n_);
    if (!keeps_) {
      double pieces[kWide<Scalar>];
      cost_rows(round_of(), settings_.measure, {found, end}, pieces);
    }
    for (std::size_t i = found; i < end; ++i) {
      const double weight = settings_.weights.empty() ? 1.0 : settings_.weights[i];
      const double cost = weight * static_cast<double>(costs_[i]);
      if (!(cost > 0.0)) continue;
      sum += cost;
      found = i;
      if (sum >= target) break;
    }
    return found;
  }

  /// A round with the candidates that are packed.
  SeedingRound<Matrix> round_of() {
    return {matrix_,
            settings_.weights,
            settings_.factors,
            squares_,
            sizes_,
            panels_,
            centers_,
            wholes_,
            unit_,
            largest_center_,
            largest_offset_,
            (wholes_.size() + kWide<Scalar> - 1) / kWide<Scalar> * kWide<Scalar>,
            first_ || keeps_,
            costs_,
            tried_};
  }

  double total(std::size_t t) const {
    double sum = 0.0;
    for (std::size_t b = t; b < pieces_.size(); b += width_) sum += pieces_[b];
    return sum;
  }

  void pack(std::span<const std::size_t> candidates) {
    const bool squares = settings_.measure == Measure::squares;
    const std::span<const double> m = settings_.middle;
    centers_.assign(candidates.size() * d_, 0.0);
    wholes_.assign(candidates.size(), 0.0);
    std::vector<double> moved(m.empty() ? 0 : centers_.size()), offsets(candidates.size(), 0.0);
    largest_center_ = largest_offset_ = 0.0;
    for (std::size_t t = 0; t < candidates.size(); ++t) {
      const double factor = settings_.factors.empty() ? 1.0 : settings_.factors[candidates[t]];
      row_of(matrix_, candidates[t]).add_to(std::span(centers_).subspan(t * d_, d_), factor);
      double product = 0.0, size = 0.0;
      for (std::size_t j = 0; j < d_; ++j) {
        const double c = centers_[t * d_ + j], at = m.empty() ? c : c - m[j];
        if (m.empty() && c == 0.0) continue;  // as most numbers of sparse rows
        if (!m.empty()) moved[t * d_ + j] = at;
        wholes_[t] += squares ? c * c : std::abs(c);
        size += squares ? at * at : std::abs(at);
        if (!m.empty()) product += m[j] * at;
      }
      if (squares && settings_.factors.empty()) offsets[t] = -(product + 0.5 * size);
      if (!squares && RowOf<Matrix>::kSparse) offsets[t] = -size;
      largest_center_ = std::max(largest_center_, squares ? std::sqrt(size) : size);
      largest_offset_ = std::max(largest_offset_, std::abs(offsets[t]));
    }
    if (!squares) largest_offset_ = 2.0 * largest_center_;
    unit_ =
        static_cast<double>(std::numeric_limits<Scalar>::epsilon()) * static_cast<double>(d_ + 8);
    panels_.pack(m.empty() ? centers_ : moved, offsets, d_);
  }

  Matrix matrix_;
  std::size_t n_, d_;
  SearchSettings settings_;
  std::size_t width_;
  std::vector<Scalar> costs_, tried_;
  std::vector<double> pieces_;
  std::vector<float> sizes_;
  std::vector<double> squares_, centers_, wholes_;
  Panels<Scalar> panels_;
  double unit_ = 0.0, largest_center_ = 0.0, largest_offset_ = 0.0;
  std::size_t last_ = 0;    // the place of the last centre among the candidates of its round
  std::size_t center_ = 0;  // its row
  bool first_ = true;
  bool keeps_ = false;  // whether costs of all candidates are kept
};

}  // namespace

#define MINIMAND_DEFINE(Matrix)                                                                   \
  MINIMAND_CLONES void cost_rows(const SeedingRound<Matrix>& round, Measure measure, Range range, \
                                 double* piece) {                                                 \
    if (measure == Measure::squares) {                                                            \
      cost_all<Dots>(round, range, piece);                                                        \
    } else {                                                                                      \
      cost_all<Gaps>(round, range, piece);                                                        \
    }                                                                                             \
  }
MINIMAND_FOR_EACH_ROWS(MINIMAND_DEFINE)
#undef MINIMAND_DEFINE

template <class Matrix>
void seed_centers(const Matrix& matrix, const SearchSettings& settings, std::size_t first,
                  std::span<const double> uniforms, std::size_t trials,
                  std::span<std::int64_t> chosen) {
  const auto [n, d] = shape_of(matrix);
  Seeding<Matrix> seeding(matrix, n, d, settings, trials);
  std::vector<std::size_t> candidates{first};
  for (std::size_t c = 0; c < chosen.size(); ++c) {
    if (c > 0) {
      candidates.resize(trials);
      for (std::size_t t = 0; t < trials; ++t) {
        candidates[t] = seeding.row_at(uniforms[(c - 1) * trials + t], first);
      }
    }
    chosen[c] = static_cast<std::int64_t>(seeding.best_of(candidates));
  }
}

#define MINIMAND_INSTANTIATE(Matrix)                                            \
  template void seed_centers(const Matrix&, const SearchSettings&, std::size_t, \
                             std::span<const double>, std::size_t, std::span<std::int64_t>);
MINIMAND_FOR_EACH_ROWS(MINIMAND_INSTANTIATE)

}  // namespace minimand
