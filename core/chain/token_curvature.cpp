#include "chain/token_curvature.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/parallel.hpp"
#include "common/watch.hpp"

namespace minimand {

namespace {

constexpr double kRare = 2e-3;  // probability below which a label is left out; safeguard
constexpr std::size_t kTokensPerLook = 1024;  // between two looks; safeguard

/// A weight that a token takes part in.
struct Term {
  std::int32_t place, label;
  double value;
};

/// The weights of one token, in the order of their places.
void collect(const ChosenWeights& weights, const VisitedTokens& tokens, std::size_t i,
             std::vector<Term>& terms) {
  const std::size_t k = weights.k;
  const auto row = static_cast<std::size_t>(tokens.rows[i]);
  const double* const p = tokens.probabilities.data() + i * k;
  terms.clear();
  const SparseTokens& features = tokens.features;
  for (auto e = features.starts[row]; e < features.starts[row + 1]; ++e) {
    const auto column = static_cast<std::size_t>(features.columns.data()[e]);
    for (auto w = weights.starts[column]; w < weights.starts[column + 1]; ++w) {
      const std::int32_t label = weights.labels.data()[w];
      if (p[label] <= kRare) continue;
      terms.push_back({weights.places.data()[w], label, features.values.data()[e]});
    }
  }
  const auto add = [&](std::size_t place, std::size_t label) {
    const std::int32_t found = weights.transitions[place];
    if (found >= 0) terms.push_back({found, static_cast<std::int32_t>(label), 1.0});
  };
  for (std::size_t c = 0; c < k; ++c) {
    if (p[c] <= kRare) continue;
    if (tokens.before[i] >= 0) add(static_cast<std::size_t>(tokens.before[i]) * k + c, c);
    if (tokens.after[i] >= 0) add(c * k + static_cast<std::size_t>(tokens.after[i]), c);
  }
  std::sort(terms.begin(), terms.end(),
            [](const Term& one, const Term& other) { return one.place < other.place; });
}

/// The rows of the lower triangle that one thread fills in.
void add_terms(const std::vector<Term>& terms, const double* p, double mass, Range rows,
               std::size_t count, double* matrix) {
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Term& one = terms[i];
    const auto place = static_cast<std::size_t>(one.place);
    if (place < rows.begin || place >= rows.end) continue;
    double* const to = matrix + place * count;
    const double factor = mass * p[one.label] * one.value;
    for (std::size_t j = 0; j <= i; ++j) {
      const Term& other = terms[j];
      const double same = one.label == other.label ? 1.0 : 0.0;
      // A transition between labels on both sides of a token may stand twice among its terms.
      const double times = i != j && one.place == other.place ? 2.0 : 1.0;
      to[other.place] += times * factor * other.value * (same - p[other.label]);
    }
  }
}

}  // namespace

void add_token_curvature(const ChosenWeights& weights, const VisitedTokens& tokens,
                         std::span<double> matrix) {
  const std::size_t visited = tokens.rows.size(), count = weights.count;
  const std::size_t work = visited * weights.k * weights.k;
  const std::size_t parts = std::min(part_count(count, work), count);
  std::vector<std::size_t> splits(parts + 1, count);  // equal parts of a triangle
  for (std::size_t part = 0; part < parts; ++part) {
    const double share = std::sqrt(static_cast<double>(part) / static_cast<double>(parts));
    splits[part] = static_cast<std::size_t>(share * static_cast<double>(count));
  }
  GiveUp stop;
  run_parts(splits, [&](Range rows, std::size_t part) {
    std::vector<Term> terms;
    for (std::size_t i = 0; i < visited; ++i) {
      collect(weights, tokens, i, terms);
      add_terms(terms, tokens.probabilities.data() + i * weights.k, tokens.mass[i], rows, count,
                matrix.data());
      if (i % kTokensPerLook == 0 && stop.leaves(part)) return;
    }
  });
  stop.throw_if_left();
}

}  // namespace minimand
