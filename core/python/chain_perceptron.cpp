#include "chain/perceptron.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// offsets, labels, fixed scores and steps.
using ChainArrays = std::tuple<Array, Array, Array, Array>;

/// The number of steps so far, sequences visited, sequences and tokens that were wrong, and the
/// largest squared length of an update.
using PassResult = std::tuple<double, std::int64_t, std::int64_t, std::int64_t, double>;

LabelledChains labelled(const ChainArrays& arrays, std::size_t n, std::size_t k, bool ends) {
  const auto& [offsets, labels, fixed, steps] = arrays;
  const auto runs = vector<std::int64_t>(offsets, "offsets");
  bool rises = runs.size() >= 2 && runs.front() == 0;
  for (std::size_t i = 0; rises && i + 1 < runs.size(); ++i) rises = runs[i] < runs[i + 1];
  if (!rises || static_cast<std::size_t>(runs.back()) != n) {
    value_problem("offsets must rise from 0 to the number of rows");
  }
  const auto coded = places(labels, "labels", k);
  check_size(coded.size(), n, "labels");
  return {runs,
          coded,
          vector<double>(fixed, "fixed", k * k + 2 * k),
          vector<double>(steps, "steps", runs.size() - 1),
          k,
          ends};
}

template <class Rows>
PassResult chain_perceptron(const Rows& lines, const ChainArrays& arrays, std::int64_t n_labels,
                            bool ends, const Array& order, const MutableArray& weights,
                            const MutableArray& lag, double count) {
  return with_rows(lines, [&](const auto& matrix, std::size_t n, std::size_t d) -> PassResult {
    const std::size_t k = python::count(n_labels, "n_labels");
    if (k == 0) value_problem("n_labels must be at least 1");
    const LabelledChains chains = labelled(arrays, n, k, ends);
    const std::size_t size = d * k + k * k + 2 * k;
    const AveragedWeights changed{mutable_vector(weights, "weights", size),
                                  mutable_vector(lag, "lag", size), count};
    const auto sequences = row_numbers(order, "order", chains.offsets.size() - 1);
    const PerceptronReport report =
        without_gil([&] { return perceptron_pass(matrix, chains, sequences, changed); });
    return {report.count, report.visited, report.wrong, report.wrong_tokens, report.radius};
  });
}

}  // namespace

void bind_chain_perceptron(nb::module_& m) {
  using nb::arg;
  m.def("chain_perceptron", &chain_perceptron<CheckedMatrix>, arg("matrix"), arg("arrays"),
        arg("n_labels"), arg("ends"), arg("order"), arg("weights").noconvert(),
        arg("lag").noconvert(), arg("count"),
        "A pass of the structured perceptron over sequences of CSR rows, weights and lag in place: "
        "(count, visited, wrong, wrong tokens, largest squared update).");
  m.def("chain_perceptron_dense", &chain_perceptron<Array>, arg("X"), arg("arrays"),
        arg("n_labels"), arg("ends"), arg("order"), arg("weights").noconvert(),
        arg("lag").noconvert(), arg("count"),
        "A pass of the structured perceptron over sequences of dense rows, weights and lag in "
        "place: (count, visited, wrong, wrong tokens, largest squared update).");
}

}  // namespace minimand::python
