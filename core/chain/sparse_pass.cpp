#include "chain/sparse_pass.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "chain/logs.hpp"
#include "chain/parts.hpp"
#include "chain/pass.hpp"
#include "chain/scaled.hpp"
#include "chain/tables.hpp"

namespace minimand {

/// The rows `first` to `last` of the tokens.
struct TokenRange {
  const SparseTokens& tokens;
  std::size_t first, last;
};

namespace {

constexpr std::size_t kLogWork = 20;  // operations of an exponential; safeguard
// Entries between the use of a row and the request for it, about a token; measured on CoNLL-2000.
constexpr std::int64_t kAhead = 16;
constexpr std::size_t kLine = 64;  // bytes of a line of the cache; safeguard

/// Where the parts of a slope begin.
struct SlopeParts {
  double *table, *singles, *transitions, *start, *stop;

  SlopeParts(std::span<double> slope, const SparseWeights& weights)
      : table(slope.data()),
        singles(table + weights.table.size()),
        transitions(singles + weights.singles.size()),
        start(transitions + weights.transitions.size()),
        stop(start + weights.k) {}
};

/// Space of one thread.
struct Space {
  std::vector<double> unary, slope, sums, pairs;
  ChainRows rows;
  ScaledSpace scaled;
  LogSpace logs;

  Space(const ChainScores& shape, std::size_t longest, std::size_t stride)
      : unary(longest * shape.width),
        slope(longest * shape.width),
        sums(shape.k * stride),
        pairs(shape.k * stride),
        scaled(stride),
        logs(shape, stride) {
    for (std::vector<double>* part : {&rows.alpha, &rows.beta, &rows.ratio}) {
      part->resize(longest * stride);
    }
  }
};

}  // namespace

/// Asks for rows that will be needed about a token later: those of rare features lie in a slow
/// cache.
template <int Writes>
MINIMAND_INLINE void ask_ahead(const SparseTokens& tokens, std::size_t t, const double* table,
                               std::size_t width) {
  const auto last = static_cast<std::int64_t>(tokens.columns.size());
  const std::int64_t end = std::min(tokens.starts.data()[t + 1] + kAhead, last);
  for (std::int64_t e = tokens.starts.data()[t] + kAhead; e < end; ++e) {
    const auto* const row = reinterpret_cast<const char*>(
        table + static_cast<std::size_t>(tokens.columns.data()[e]) * width);
    for (std::size_t at = 0; at < width * sizeof(double); at += kLine) {
      __builtin_prefetch(row + at, Writes);
    }
  }
}

/// The same for single weights.
template <int Writes>
MINIMAND_INLINE void ask_singles_ahead(const SparseTokens& tokens, std::size_t t,
                                       const double* singles) {
  const auto last = static_cast<std::int64_t>(tokens.singles.size());
  const std::int64_t end = std::min(tokens.single_starts.data()[t + 1] + kAhead, last);
  for (std::int64_t e = tokens.single_starts.data()[t] + kAhead; e < end; ++e) {
    __builtin_prefetch(singles + tokens.singles.data()[e], Writes);
  }
}

/// The scores of one token: the sum of the rows of its columns, times their values.
struct TokenScores {
  const SparseTokens& tokens;
  std::size_t t;
  const double* table;
  std::size_t width;
  double* to;

  /// L vectors of the scores, from label c on.
  template <std::size_t L>
  MINIMAND_INLINE void chunk(std::size_t c) const {
    Lanes even[L] = {}, odd[L] = {};
    std::int64_t e = tokens.starts.data()[t];
    const std::int64_t end = tokens.starts.data()[t + 1];
    const std::int32_t* const columns = tokens.columns.data();
    const double* const values = tokens.values.data();
    for (; e + 2 <= end; e += 2) {
      const double* const one = table + static_cast<std::size_t>(columns[e]) * width + c;
      const double* const other = table + static_cast<std::size_t>(columns[e + 1]) * width + c;
      const Lanes first = same_lanes(values[e]), second = same_lanes(values[e + 1]);
      for (std::size_t l = 0; l < L; ++l) {
        even[l] += first * load_lanes(one + l * kLanes);
        odd[l] += second * load_lanes(other + l * kLanes);
      }
    }
    if (e < end) {
      const double* const one = table + static_cast<std::size_t>(columns[e]) * width + c;
      const Lanes first = same_lanes(values[e]);
      for (std::size_t l = 0; l < L; ++l) even[l] += first * load_lanes(one + l * kLanes);
    }
    for (std::size_t l = 0; l < L; ++l) store_lanes(to + c + l * kLanes, even[l] + odd[l]);
  }
};

/// Adds the slope of one token, times the values of its columns, to the rows of these columns.
struct TokenSlope {
  const SparseTokens& tokens;
  std::size_t t;
  const double* slope;
  std::size_t width;
  double* table;

  /// L vectors of the slope, from label c on.
  template <std::size_t L>
  MINIMAND_INLINE void chunk(std::size_t c) const {
    Lanes own[L];
    for (std::size_t l = 0; l < L; ++l) own[l] = load_lanes(slope + c + l * kLanes);
    const std::int64_t end = tokens.starts.data()[t + 1];
    for (std::int64_t e = tokens.starts.data()[t]; e < end; ++e) {
      double* const to = table + static_cast<std::size_t>(tokens.columns.data()[e]) * width + c;
      const Lanes value = same_lanes(tokens.values.data()[e]);
      for (std::size_t l = 0; l < L; ++l) {
        store_lanes(to + l * kLanes, load_lanes(to + l * kLanes) + value * own[l]);
      }
    }
  }
};

/// All labels of a token, in chunks of six, two and one vectors.
template <class Work>
MINIMAND_INLINE void in_chunks(std::size_t width, const Work& work) {
  std::size_t c = 0;
  for (; c + 6 * kLanes <= width; c += 6 * kLanes) work.template chunk<6>(c);
  for (; c + 2 * kLanes <= width; c += 2 * kLanes) work.template chunk<2>(c);
  if (c < width) work.template chunk<1>(c);
}

MINIMAND_CLONES void score_tokens(const TokenRange& range, const SparseWeights& weights,
                                  double* __restrict to) {
  const SparseTokens& tokens = range.tokens;
  const std::size_t width = weights.width;
  for (std::size_t t = range.first; t < range.last; ++t, to += width) {
    ask_ahead<0>(tokens, t, weights.table.data(), width);
    ask_singles_ahead<0>(tokens, t, weights.singles.data());
    in_chunks(width, TokenScores{tokens, t, weights.table.data(), width, to});
    for (auto e = tokens.single_starts[t]; e < tokens.single_starts[t + 1]; ++e) {
      to[tokens.labels.data()[e]] +=
          tokens.single_values.data()[e] * weights.singles.data()[tokens.singles.data()[e]];
    }
  }
}

MINIMAND_CLONES void add_tokens(const TokenRange& range, const double* __restrict slope,
                                std::size_t width, double* __restrict table,
                                double* __restrict singles) {
  const SparseTokens& tokens = range.tokens;
  for (std::size_t t = range.first; t < range.last; ++t, slope += width) {
    ask_ahead<1>(tokens, t, table, width);
    ask_singles_ahead<1>(tokens, t, singles);
    in_chunks(width, TokenSlope{tokens, t, slope, width, table});
    for (auto e = tokens.single_starts[t]; e < tokens.single_starts[t + 1]; ++e) {
      singles[tokens.singles.data()[e]] +=
          tokens.single_values.data()[e] * slope[tokens.labels.data()[e]];
    }
  }
}

namespace {

/// One sequence: its scores, its pass, and the slope in the weights of its features.
void visit(const TokenRange& range, const SparseWeights& weights,
           const std::optional<ScaledTables>& tables, double mass, const ChainSums& found,
           const SlopeParts& to, Space& space) {
  const std::size_t k = weights.k, width = weights.width, length = range.last - range.first;
  const std::array<std::int64_t, 2> offsets{0, static_cast<std::int64_t>(length)};
  score_tokens(range, weights, space.unary.data());
  const ChainScores scores{{space.unary.data(), length * width},
                           offsets,
                           weights.transitions,
                           weights.start,
                           weights.stop,
                           {},
                           k,
                           width};
  bool possible = tables && scaled_sequence(scores, *tables, 0, mass, space.rows, found,
                                            space.sums.data(), space.scaled);
  if (!possible) {
    possible = log_sequence(scores, 0, mass, space.rows, found, space.pairs.data(), space.logs);
  }
  if (!possible) {
    found.log_partition[0] = found.path[0] = kNoScore;
    return;
  }
  compare_with_labels(scores, 0, mass, found);
  add_tokens(range, space.slope.data(), width, to.table, to.singles);
  const double* const last = space.slope.data() + (length - 1) * width;
  for (std::size_t c = 0; c < k; ++c) {
    to.start[c] += space.slope[c];
    to.stop[c] += last[c];
  }
}

}  // namespace

void sparse_pass(const SparseTokens& tokens, std::span<const std::int64_t> offsets,
                 std::span<const std::int64_t> labels, std::span<const double> mass,
                 const SparseWeights& weights, const SparseSlope& to) {
  const std::size_t k = weights.k, stride = padded(k), size = k * stride;
  const std::size_t sequences = offsets.size() - 1;
  const auto tables = scaled_tables(weights.transitions, k);
  std::size_t longest = 1;
  for (std::size_t s = 0; s < sequences; ++s) {
    longest = std::max(longest, static_cast<std::size_t>(offsets[s + 1] - offsets[s]));
  }
  const ChainScores shape{{}, offsets, weights.transitions, weights.start, weights.stop,
                          {}, k,       weights.width};
  const std::size_t entries = tokens.values.size() / static_cast<std::size_t>(offsets.back()) + 1;
  const std::size_t work = 3 * size * (tables ? 1 : kLogWork) + 2 * entries * weights.width;
  const SequenceParts parts(offsets, work, to.slope.size());
  PrivateSums sums(to.slope, parts.count());
  std::vector<Space> spaces(parts.count(), Space(shape, longest, stride));
  parts.each([&](std::size_t s, std::size_t part) {
    const auto first = static_cast<std::size_t>(offsets[s]);
    const auto last = static_cast<std::size_t>(offsets[s + 1]);
    Space& space = spaces[part];
    const ChainSums found{.log_partition = to.log_partition.subspan(s, 1),
                          .marginals = {space.slope.data(), (last - first) * weights.width},
                          .labels = labels.subspan(first, last - first),
                          .path = to.path.subspan(s, 1)};
    visit({tokens, first, last}, weights, tables, mass[s], found,
          SlopeParts(sums.of(part), weights), space);
  });
  for (std::size_t part = 0; part < parts.count(); ++part) {
    double* const pairs = SlopeParts(sums.of(part), weights).transitions;
    for (std::size_t a = 0; a < k; ++a) {
      for (std::size_t b = 0; b < k; ++b) {
        const std::size_t from = a * stride + b;
        pairs[a * k + b] += spaces[part].pairs[from];
        if (tables) pairs[a * k + b] += tables->forward[from] * spaces[part].sums[from];
      }
    }
  }
  sums.add_up();
}

}  // namespace minimand
