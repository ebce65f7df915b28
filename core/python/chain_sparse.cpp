#include <algorithm>
#include <array>
#include <vector>

#include "chain/sparse_pass.hpp"
#include "chain/token_curvature.hpp"
#include "common/lanes.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

std::span<const std::int64_t> rising(const Array& array, const char* name, std::size_t size) {
  const auto found = vector<std::int64_t>(array, name, size);
  bool rises = found.size() >= 1 && found.front() == 0;
  for (std::size_t i = 0; rises && i + 1 < found.size(); ++i) rises = found[i] <= found[i + 1];
  if (!rises) value_problem(std::string(name) + " must rise from 0");
  return found;
}

std::span<const std::int32_t> below(const Array& array, const char* name, std::size_t size,
                                    std::size_t limit) {
  const auto found = vector<std::int32_t>(array, name, size);
  for (const std::int32_t number : found) {
    if (number < 0 || static_cast<std::size_t>(number) >= limit) {
      value_problem(std::string(name) + " must hold numbers from 0 to below " +
                    std::to_string(limit));
    }
  }
  return found;
}

/// starts, columns, values; single starts, singles, labels, single values.
using TokenArrays = std::tuple<Array, Array, Array, Array, Array, Array, Array>;

/// The features of tokens with their sequences, and the arrays that keep their memory.
class Tokens {
 public:
  Tokens(const Array& offsets, const Array& labels, const Array& mass, const TokenArrays& arrays,
         std::int64_t columns, std::int64_t singles, std::int64_t k)
      : kept_{offsets, labels, mass}, arrays_(arrays), k_(count(k, "k")) {
    const auto& [starts, of_entries, values, single_starts, places_of, labels_of, single_values] =
        arrays_;
    offsets_ = rising(offsets, "offsets", offsets.size());
    for (std::size_t s = 0; s + 1 < offsets_.size(); ++s) {
      if (offsets_[s] == offsets_[s + 1]) value_problem("no sequence may be empty");
    }
    if (offsets_.size() < 2 || k_ == 0) value_problem("there must be a sequence and a label");
    const auto rows = static_cast<std::size_t>(offsets_.back());
    labels_ = places(labels, "labels", k_);
    check_size(labels_.size(), rows, "labels");
    mass_ = vector<double>(mass, "mass", offsets_.size() - 1);
    columns_ = count(columns, "columns");
    singles_ = count(singles, "singles");
    tokens_.starts = rising(starts, "starts", rows + 1);
    const auto stored = static_cast<std::size_t>(tokens_.starts.back());
    tokens_.columns = below(of_entries, "columns", stored, columns_);
    tokens_.values = vector<double>(values, "values", stored);
    tokens_.single_starts = rising(single_starts, "single_starts", rows + 1);
    const auto alone = static_cast<std::size_t>(tokens_.single_starts.back());
    tokens_.singles = below(places_of, "singles", alone, singles_);
    tokens_.labels = below(labels_of, "labels of singles", alone, k_);
    tokens_.single_values = vector<double>(single_values, "single_values", alone);
  }

  /// Log-partition and score of the labels of every sequence, and the slope in all weights.
  nb::tuple slope(const Array& table, const Array& singles, const Array& transitions,
                  const Array& start, const Array& stop) const {
    const Vectors rows = vectors(table, "table", columns_);
    const std::size_t width = rows.width;
    if (rows.flat || width < k_ || width % kLanes != 0) {
      value_problem("table must have a column for every label, in whole vectors");
    }
    const Vectors steps = vectors(transitions, "transitions", k_);
    check_size(steps.values.size(), k_ * k_, "transitions");
    const SparseWeights weights{rows.values,
                                vector<double>(singles, "singles", singles_),
                                steps.values,
                                vector<double>(start, "start", k_),
                                vector<double>(stop, "stop", k_),
                                k_,
                                width};
    const std::size_t sequences = offsets_.size() - 1;
    Fresh partition({sequences}), path({sequences});
    Fresh found({rows.values.size() + singles_ + k_ * k_ + 2 * k_});
    without_gil([&] {
      sparse_pass(tokens_, offsets_, labels_, mass_, weights,
                  {partition.values(), path.values(), found.values()});
    });
    return nb::make_tuple(partition.hand_over(), path.hand_over(), found.hand_over());
  }

  /// The curvature in chosen weights, as if the neighbours of every token were known.
  Result curvature(const std::tuple<Array, Array, Array, Array>& chosen, std::int64_t size,
                   const Array& rows, const Array& mass, const Array& probabilities) const {
    const std::size_t number = count(size, "count"), visited = rows.size();
    const auto& [starts, labels, weights_of, transitions] = chosen;
    const auto begins = rising(starts, "starts of chosen weights", columns_ + 1);
    const auto known = static_cast<std::size_t>(begins.back());
    const ChosenWeights weights{begins,
                                below(labels, "labels of chosen weights", known, k_),
                                below(weights_of, "places", known, number),
                                vector<std::int32_t>(transitions, "transitions", k_ * k_),
                                k_,
                                number};
    for (const std::int32_t place : weights.transitions) {
      if (place >= static_cast<std::int32_t>(number)) value_problem("a transition has no place");
    }
    const auto tokens = places(rows, "rows", labels_.size());
    std::vector<std::int64_t> before(visited), after(visited);
    for (std::size_t i = 0; i < visited; ++i) {
      const auto t = static_cast<std::size_t>(tokens[i]);
      const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), tokens[i]);
      const auto s = static_cast<std::size_t>(next - offsets_.begin()) - 1;
      before[i] = tokens[i] > offsets_[s] ? labels_[t - 1] : -1;
      after[i] = tokens[i] + 1 < *next ? labels_[t + 1] : -1;
    }
    const Vectors p = vectors(probabilities, "probabilities", visited);
    check_size(p.values.size(), visited * k_, "probabilities");
    const VisitedTokens all{tokens_,  tokens, vector<double>(mass, "mass", visited),
                            p.values, before, after};
    Fresh found({number, number});
    std::ranges::fill(found.values(), 0.0);
    without_gil([&] { add_token_curvature(weights, all, found.values()); });
    return found.hand_over();
  }

 private:
  std::array<Array, 3> kept_;
  TokenArrays arrays_;
  std::size_t k_, columns_ = 0, singles_ = 0;
  std::span<const std::int64_t> offsets_, labels_;
  std::span<const double> mass_;
  SparseTokens tokens_;
};

}  // namespace

void bind_chain_sparse(nb::module_& m) {
  using nb::arg;
  nb::class_<Tokens>(m, "SparseTokens",
                     "Sequences of tokens with sparse features: the slope of a likelihood.")
      .def(nb::init<const Array&, const Array&, const Array&, const TokenArrays&, std::int64_t,
                    std::int64_t, std::int64_t>(),
           arg("offsets"), arg("labels"), arg("mass"), arg("tokens"), arg("columns"),
           arg("singles"), arg("k"))
      .def("slope", &Tokens::slope, arg("table"), arg("singles"), arg("transitions"), arg("start"),
           arg("stop"),
           "(log-partition, score of the labels, sum of mass times marginals minus labels in the "
           "table, single weights, transitions without the labels, start and stop).")
      .def("curvature", &Tokens::curvature, arg("chosen"), arg("count"), arg("rows"), arg("mass"),
           arg("probabilities"),
           "The lower triangle of the curvature in chosen weights of the table and of transitions, "
           "from tokens as if their neighbours were known. chosen: where the weights of every row "
           "of the table begin, their labels and places, and places of transitions or -1.");
}

}  // namespace minimand::python
