#include "clusters/search.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>

#include "clusters/loops.hpp"
#include "common/watch.hpp"

namespace minimand {
namespace {

constexpr std::size_t kGroupCenters = 16;  // least number of centres in a group; safeguard
constexpr std::size_t kIncrements = 32;    // changes of sums until they are taken anew; safeguard
constexpr double kUnit = 0x1p-52;          // twice the unit rounding of double; definition
// Rows in double precision are scored in single precision while at most this share of those in
// doubt has two centres that single precision cannot tell apart; safeguard: such a row is compared
// with all centres, which takes about as long as the scores of ten.
constexpr double kMostClose = 0.05;
// Sizes of the rows for which that is tried; safeguard: no product overflows or underflows.
constexpr double kLeastNarrow = 1e-10, kMostNarrow = 1e15;

/// The rounding of a score of d terms in a type: 1.01 covers the terms of second order.
template <class Scalar>
double rounding_of(std::size_t d) {
  return 1.01 * static_cast<double>(std::numeric_limits<Scalar>::epsilon()) / 2.0 *
         static_cast<double>(d + 8);
}

double size_of(std::span<const double> x, Measure measure) {
  double sum = 0.0;
  for (const double v : x) sum += measure == Measure::squares ? v * v : std::abs(v);
  return sum;
}

template <class Matrix>
class Search final : public CenterSearch {
 public:
  using Scalar = ScalarOf<Matrix>;

  Search(const Matrix& matrix, std::size_t n, std::size_t d, const SearchSettings& settings)
      : CenterSearch(n, d, settings), matrix_(matrix) {
    const std::size_t k = settings.clusters;
    // Groups of whole panels in both precisions
    const std::size_t panels = (k + kPanel<float> - 1) / kPanel<float>;
    const std::size_t wanted = std::min(kMostGroups, (k + kGroupCenters - 1) / kGroupCenters);
    centers_of_group_ = (panels + wanted - 1) / wanted * kPanel<float>;
    groups_ = (k + centers_of_group_ - 1) / centers_of_group_;
    width_ = (groups_ + kWide<float> - 1) / kWide<float> * kWide<float>;
    for (std::size_t c = 0; c < k; ++c) {
      group_of_.push_back(static_cast<std::uint8_t>(c / centers_of_group_));
    }
    sizes_.assign(n, 0.0f);
    // One panel of doubles is one of floats, too: then there is nothing to gain.
    narrow_ = kCanNarrow && !settings.middle.empty() && k > kPanel<double>;
    if (settings.measure == Measure::squares) size_all_rows();
    if (narrow_) {
      const float largest = *std::max_element(sizes_.begin(), sizes_.end());
      if (!(largest > kLeastNarrow && largest < kMostNarrow)) widen();
    }
    reset();
  }

  void reset() override {
    first_ = true;
    known_ = false;
    std::fill(labels_.begin(), labels_.end(), -1);
    drifts_.assign(width_, 0.0f);
  }

  SearchPass assign(std::span<const double> centers) override {
    note_shifts(centers);
    centers_.assign(centers.begin(), centers.end());
    pack();
    if (!first_) note_gaps();
    if (settings_.remember && upper_.empty()) {
      upper_.resize(rows());
      lower_.resize(rows());
      by_group_.assign(rows() * width_, std::numeric_limits<float>::infinity());
    }
    if (!(largest_center_ < kMostNarrow)) widen();
    const SearchPass pass = run();
    moved_ += pass.moved;
    first_ = !settings_.remember || !pass.complete;
    return pass;
  }

  void relabel(std::size_t row, std::int32_t cluster) override {
    labels_[row] = cluster;
    ++moved_;
    if (!settings_.remember || upper_.empty()) return;
    upper_[row] = std::numeric_limits<float>::infinity();
    lower_[row] = 0.0f;
    for (std::size_t g = 0; g < groups_; ++g) by_group_[row * width_ + g] = 0.0f;
  }

  void distances(std::span<double> out) const override {
    const SearchState<Matrix> now = state(panels_);
    parallel_ranges(rows(), 2 * stored_numbers(matrix_), [&](Range range, std::size_t) {
      measure_rows(now, settings_.measure, range, out);
    });
  }

  void sums(std::span<double> sums, std::span<double> masses) override {
    const bool anew = !known_ || increments_ >= kIncrements || 2 * moved_ > rows();
    if (anew) {
      sums_.assign(clusters() * columns(), 0.0);
      masses_.assign(clusters(), 0.0);
    }
    const std::span<const std::int32_t> before = anew ? std::span<const std::int32_t>{} : before_;
    const std::size_t share = anew ? rows() : 2 * moved_;
    const std::size_t work = share * (stored_numbers(matrix_) / std::max<std::size_t>(rows(), 1));
    const std::size_t parts = part_count(clusters(), work);
    run_parts(even_splits(parts, parts), [&](Range, std::size_t part) {
      add_rows(matrix_, SumsPart{part, parts, labels_, before, settings_.weights, settings_.factors,
                                 sums_, masses_});
    });
    before_ = labels_;
    known_ = true;
    moved_ = 0;
    increments_ = anew ? 0 : increments_ + 1;
    std::copy(sums_.begin(), sums_.end(), sums.begin());
    std::copy(masses_.begin(), masses_.end(), masses.begin());
  }

 private:
  std::span<const double> center(std::size_t c) const {
    return std::span<const double>(centers_).subspan(c * columns(), columns());
  }

  static constexpr bool kCanNarrow = std::is_same_v<Matrix, DenseFloat64>;

  void size_all_rows() {
    squares_.resize(rows());
    parallel_ranges(rows(), 2 * stored_numbers(matrix_), [&](Range range, std::size_t) {
      size_rows(matrix_, settings_.factors, settings_.middle, narrow_, range, squares_, sizes_);
    });
  }

  /// From now on scores have the precision of the rows.
  void widen() {
    if (!narrow_) return;
    narrow_ = false;
    size_all_rows();
  }

  /// How far every centre has gone since the last call, rounded up.
  void note_shifts(std::span<const double> centers) {
    const std::size_t k = clusters(), d = columns();
    shifts_.assign(k, 0.0f);
    fall_ = 0.0f;
    if (first_) return;
    std::vector<float> largest(groups_, 0.0f);
    for (std::size_t c = 0; c < k; ++c) {
      double sum = 0.0;
      for (std::size_t j = 0; j < d; ++j) {
        const double gap = centers[c * d + j] - centers_[c * d + j];
        sum += settings_.measure == Measure::squares ? gap * gap : std::abs(gap);
      }
      sum *= 1.0 + kUnit * static_cast<double>(d + 8);
      const double shift = settings_.measure == Measure::squares ? std::sqrt(sum) : sum;
      shifts_[c] = static_cast<float>(shift) * kUp;
      fall_ = std::max(fall_, shifts_[c]);
      largest[group_of_[c]] = std::max(largest[group_of_[c]], shifts_[c]);
    }
    for (std::size_t g = 0; g < groups_; ++g) drifts_[g] = (drifts_[g] + largest[g]) * kUp;
  }

  /// Packs the centres. With a middle m, products are taken with c' = c - m: the score
  /// x . c' - (m . c' + |c'|^2 / 2) is that of x - m, but rows need not be changed, and its
  /// rounding is no larger than that of the numbers of a row themselves.
  void pack() {
    const std::size_t k = clusters(), d = columns();
    const bool squares = settings_.measure == Measure::squares;
    const std::span<const double> m = settings_.middle;
    std::vector<double> moved = centers_, offsets(k, 0.0), halves(k, 0.0);
    wholes_.assign(k, 0.0);
    largest_center_ = largest_offset_ = 0.0;
    for (std::size_t c = 0; c < k; ++c) {
      wholes_[c] = size_of(center(c), settings_.measure);
      double product = 0.0;
      for (std::size_t j = 0; j < m.size(); ++j) {
        moved[c * d + j] -= m[j];
        product += m[j] * moved[c * d + j];
      }
      const double size = size_of(std::span(moved).subspan(c * d, d), settings_.measure);
      halves[c] = -0.5 * size;
      if (squares && settings_.factors.empty()) offsets[c] = halves[c] - product;
      if (!squares && RowOf<Matrix>::kSparse) offsets[c] = -size;
      largest_center_ = std::max(largest_center_, squares ? std::sqrt(size) : size);
      largest_offset_ = std::max(largest_offset_, std::abs(offsets[c]));
    }
    if (!squares) largest_offset_ = 2.0 * largest_center_;  // rounding of the centres themselves
    panels_.pack(moved, offsets, d);
    if (narrow_) narrow_panels_.pack(moved, halves, d);
  }

  /// Half the distance of every centre from the nearest other, rounded down: a row that is nearer
  /// to its own centre than this has no nearer one.
  void note_gaps() {
    const std::size_t k = clusters(), d = columns();
    const std::vector<Scalar> rows(centers_.begin(), centers_.end());
    const DenseMatrix<Scalar> matrix{rows, k, d, d, true};
    std::vector<double> best(k, 0.0);
    parallel_ranges(k, k * k * d / 8, [&](Range range, std::size_t) {
      score_others(matrix, panels_others(), settings_.measure, range, best);
    });
    half_gaps_.assign(k, 0.0f);
    for (std::size_t c = 0; c < k; ++c)
      half_gaps_[c] = static_cast<float>(0.5 * gap(c, best[c])) * kDown;
  }

  /// A sparse |x - c| is scored by other offsets than a dense one.
  const Panels<Scalar>& panels_others() {
    if (settings_.measure == Measure::squares || !RowOf<Matrix>::kSparse) return panels_;
    others_.pack(centers_, std::vector<double>(clusters(), 0.0), columns());
    return others_;
  }

  double gap(std::size_t c, double score) const {
    const double unit = rounding_of<Scalar>(columns());
    if (settings_.measure == Measure::gaps) {
      return std::max(0.0, -score * (1.0 - unit) - 4.0 * unit * largest_center_);
    }
    double square = 0.0;
    for (std::size_t j = 0; j < columns(); ++j) {
      const double m = settings_.middle.empty() ? 0.0 : settings_.middle[j];
      square += (center(c)[j] - m) * (center(c)[j] - m);
    }
    if (!settings_.factors.empty()) square += 1.0;
    const double error = unit * (std::sqrt(wholes_[c]) * largest_center_ + largest_offset_);
    return std::sqrt(std::max(0.0, square * (1.0 - unit) - 2.0 * (score + 2.0 * error)));
  }

  template <class Tile = Scalar>
  SearchState<Matrix, Tile> state(const Panels<Tile>& panels) const {
    auto& self = const_cast<Search&>(*this);
    const std::size_t d = columns();
    return {matrix_, settings_.factors, squares_, sizes_, self.labels_, self.upper_, self.lower_,
            self.by_group_, d, centers_, wholes_, panels, groups_, width_,
            centers_of_group_ / kPanel<Tile>, group_of_, shifts_, half_gaps_, fall_, drifts_,
            rounding_of<Tile>(d), kUnit * static_cast<double>(d + 8), largest_center_,
            largest_offset_,
            // Products that are rounded to zero
            narrow_ ? static_cast<double>(d + 8) * std::numeric_limits<float>::min() : 0.0, first_,
            settings_.remember, settings_.middle};
  }

  SearchPass run() {
    if constexpr (kCanNarrow) {
      // The first rows show whether single precision tells centres apart.
      if (narrow_ && first_) run_rows(state(narrow_panels_), {0, std::min(kChunk, rows())});
      if (narrow_) return run_rows(state(narrow_panels_), {0, rows()});
    }
    return run_rows(state(panels_), {0, rows()});
  }

  /// Searches some rows; widens scores if too many rows had no clear winner.
  template <class Tile>
  SearchPass run_rows(const SearchState<Matrix, Tile>& now, Range range) {
    const auto n = static_cast<double>(range.size());
    const double pairs = n * (first_ ? 1.0 : share_);
    const double entries =
        static_cast<double>(stored_numbers(matrix_)) / std::max(1.0, static_cast<double>(rows()));
    const double work = 8.0 * n + pairs * entries * static_cast<double>(clusters()) / 4.0;
    std::atomic<std::size_t> next = 0, moved = 0, compared = 0, settled = 0, close = 0;
    std::atomic<bool> stopped = false;
    const std::size_t chunks = (range.size() + kChunk - 1) / kChunk;
    const std::size_t parts = part_count(chunks, static_cast<std::size_t>(work));
    run_parts(even_splits(parts, parts), [&](Range, std::size_t part) {
      const auto block = std::make_unique<DoubtfulRows<Tile>>();
      for (std::size_t c = next++; c < chunks && !stopped; c = next++) {
        // Without labels there is no result at all, so the first call goes through.
        if (part == 0 && !first_ && stopping()) {
          stopped = true;
          break;
        }
        const std::size_t begin = range.begin + c * kChunk;
        search_rows(now, settings_.measure, {begin, std::min(begin + kChunk, range.end)}, *block);
      }
      moved += block->moved;
      compared += block->compared;
      settled += block->settled;
      close += block->close;
    });
    const double whole = n * static_cast<double>(groups_);
    share_ = whole > 0.0 ? static_cast<double>(compared) / whole : 0.0;
    if (static_cast<double>(close) > kMostClose * static_cast<double>(settled)) widen();
    return {moved, share_, !stopped};
  }

  Matrix matrix_;
  std::vector<double> squares_;
  std::vector<float> sizes_;
  std::vector<float> upper_, lower_, by_group_;
  std::vector<double> centers_, wholes_;
  Panels<Scalar> panels_, others_;
  Panels<float> narrow_panels_;
  bool narrow_ = false;  // whether scores are computed with them
  std::size_t groups_, width_, centers_of_group_;
  std::vector<std::uint8_t> group_of_;
  std::vector<float> shifts_, half_gaps_;
  float fall_ = 0.0f;
  std::vector<float> drifts_;
  double largest_center_ = 0.0, largest_offset_ = 0.0;
  double share_ = 1.0;
  bool first_ = true;
  // The sums
  std::vector<double> sums_, masses_;
  std::vector<std::int32_t> before_;  // the labels that they belong to
  bool known_ = false;
  std::size_t moved_ = 0, increments_ = 0;
};

}  // namespace

template <class Matrix>
std::unique_ptr<CenterSearch> make_search(const Matrix& matrix, const SearchSettings& settings) {
  const auto [n, d] = shape_of(matrix);
  return std::make_unique<Search<Matrix>>(matrix, n, d, settings);
}

#define MINIMAND_INSTANTIATE(Matrix) \
  template std::unique_ptr<CenterSearch> make_search(const Matrix&, const SearchSettings&);
MINIMAND_FOR_EACH_ROWS(MINIMAND_INSTANTIATE)

}  // namespace minimand
