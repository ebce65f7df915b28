#include "chain/pass.hpp"

#include <algorithm>

#include "chain/logs.hpp"
#include "chain/parts.hpp"
#include "chain/tables.hpp"

namespace minimand {
namespace {

enum Kind : char { kScaled, kInLogs, kImpossible };

constexpr std::size_t kLogWork = 20;  // operations of an exponential; safeguard

/// Private tables of every part: sums that are to be multiplied by exp(transitions), and others.
struct PartTables {
  std::vector<double> sums, pairs;
  PartTables(std::size_t parts, std::size_t size) : sums(parts * size), pairs(parts * size) {}
};

/// Adds the tables of all parts, in their order, to those of the first.
void add_up(std::vector<double>& tables, std::size_t size) {
  for (std::size_t from = size; from < tables.size(); from += size) {
    for (std::size_t i = 0; i < size; ++i) tables[i] += tables[from + i];
  }
}

}  // namespace

void compare_with_labels(const ChainScores& scores, std::size_t s, double mass,
                         const ChainSums& to) {
  const std::size_t k = scores.k, first = scores.first(s), last = scores.last(s);
  double path = 0.0;
  std::size_t before = 0;
  for (std::size_t t = first; t < last; ++t) {
    const auto label = static_cast<std::size_t>(to.labels[t]);
    double* const row = to.marginals.data() + t * scores.width;
    for (std::size_t c = 0; c < k; ++c) row[c] *= mass;
    row[label] -= mass;
    path += scores.unary[t * scores.width + label];
    path += t == first ? scores.start[label] : scores.transitions[before * k + label];
    before = label;
  }
  to.path[s] = path + scores.stop[before];
}

ChainPass::ChainPass(std::span<const std::int64_t> offsets, std::size_t k)
    : offsets_(offsets.begin(), offsets.end()), k_(k), stride_(padded(k)) {}

void ChainPass::run(const ChainScores& scores, std::span<const double> mass, const ChainSums& to) {
  const std::size_t rows = scores.rows(), size = k_ * stride_;
  const bool logs_only = !scores.edges.empty() || !to.edge_pairs.empty() || !to.entropy.empty();
  const bool sums_wanted = !to.marginals.empty();
  ready_ = false;
  tables_ = logs_only ? std::nullopt : scaled_tables(scores.transitions, k_);
  for (std::vector<double>* part : {&rows_.alpha, &rows_.beta, &rows_.ratio}) {
    part->resize(rows * stride_);
  }
  kind_.assign(scores.sequences(), kScaled);
  transitions_.assign(scores.transitions.begin(), scores.transitions.end());
  mass_.assign(mass.begin(), mass.end());
  const SequenceParts parts(offsets_, 3 * size * (tables_ ? 1 : kLogWork), size);
  PartTables tables(parts.count(), size);
  std::vector<ScaledSpace> scaled(parts.count(), ScaledSpace(stride_));
  std::vector<LogSpace> logs(parts.count(), LogSpace(scores, stride_));
  parts.each([&](std::size_t s, std::size_t part) {
    double* const sums = sums_wanted ? tables.sums.data() + part * size : nullptr;
    double* const pairs = sums_wanted ? tables.pairs.data() + part * size : nullptr;
    bool found =
        tables_ && scaled_sequence(scores, *tables_, s, mass_[s], rows_, to, sums, scaled[part]);
    if (!found) {
      kind_[s] = kInLogs;
      found = log_sequence(scores, s, mass_[s], rows_, to, pairs, logs[part]);
    }
    if (found) {
      if (!to.labels.empty()) compare_with_labels(scores, s, mass_[s], to);
      return;
    }
    kind_[s] = kImpossible;
    const std::size_t first = scores.first(s), count = scores.last(s) - first;
    to.log_partition[s] = kNoScore;
    if (sums_wanted)
      std::fill_n(to.marginals.begin() + first * scores.width, count * scores.width, 0.0);
    if (!to.edge_pairs.empty()) {
      std::fill_n(to.edge_pairs.begin() + first * k_ * k_, count * k_ * k_, 0.0);
    }
    if (!to.entropy.empty()) to.entropy[s] = 0.0;
    if (!to.path.empty()) to.path[s] = kNoScore;
  });
  if (!sums_wanted) return;
  add_up(tables.sums, size);
  add_up(tables.pairs, size);
  scaled_pairs_.assign(k_ * k_, 0.0);
  for (std::size_t a = 0; a < k_; ++a) {
    for (std::size_t b = 0; b < k_; ++b) {
      const std::size_t from = a * stride_ + b, at = a * k_ + b;
      if (tables_) scaled_pairs_[at] = tables_->forward[from] * tables.sums[from];
      to.pairs[at] = scaled_pairs_[at] + tables.pairs[from];
    }
  }
  ready_ = scores.edges.empty();
}

void ChainPass::product(const ChainDirection& direction, std::span<double> marginals,
                        std::span<double> pairs) {
  const std::size_t size = k_ * stride_;
  const std::size_t width = direction.unary.size() / static_cast<std::size_t>(offsets_.back());
  const ChainScores shape{direction.unary, offsets_, transitions_, direction.start,
                          direction.stop,  {},       k_,           width};
  const SequenceParts parts(offsets_, 6 * size * (tables_ ? 1 : kLogWork), size);
  PartTables tables(parts.count(), size);
  std::optional<ScaledDirection> turned;
  if (tables_) turned = scaled_direction(direction, *tables_);
  std::vector<ScaledSpace> scaled(parts.count(), ScaledSpace(stride_));
  std::vector<LogSpace> logs(parts.count(), LogSpace(shape, stride_));
  parts.each([&](std::size_t s, std::size_t part) {
    const std::size_t at = part * size;
    if (kind_[s] == kScaled) {
      scaled_product(*turned, offsets_, *tables_, s, mass_[s], rows_, marginals,
                     tables.sums.data() + at, scaled[part]);
    } else if (kind_[s] == kInLogs) {
      log_product(shape, direction, s, mass_[s], rows_, marginals, tables.pairs.data() + at,
                  logs[part]);
    } else {
      const std::size_t first = shape.first(s), count = shape.last(s) - first;
      std::fill_n(marginals.begin() + first * shape.width, count * shape.width, 0.0);
    }
  });
  add_up(tables.sums, size);
  add_up(tables.pairs, size);
  for (std::size_t a = 0; a < k_; ++a) {
    for (std::size_t b = 0; b < k_; ++b) {
      const std::size_t from = a * stride_ + b, at = a * k_ + b;
      pairs[at] = tables.pairs[from];
      if (tables_) {
        pairs[at] += tables_->forward[from] * tables.sums[from] +
                     direction.transitions[at] * scaled_pairs_[at];
      }
    }
  }
}

}  // namespace minimand
