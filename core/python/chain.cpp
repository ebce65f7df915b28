#include "chain/pass.hpp"
#include "chain/paths.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

std::span<const std::int64_t> begins(const Array& offsets) {
  const auto found = vector<std::int64_t>(offsets, "offsets");
  bool rises = found.size() >= 2 && found.front() == 0;
  for (std::size_t s = 0; rises && s + 1 < found.size(); ++s) rises = found[s] < found[s + 1];
  if (!rises) value_problem("offsets must rise from 0, by at least one row a sequence");
  return found;
}

std::span<const double> square(const Array& array, std::size_t k, const char* name) {
  const Vectors found = vectors(array, name, k);
  if (found.flat || found.width != k) value_problem(std::string(name) + " must be (k, k)");
  return found.values;
}

/// unary (rows, k or wider), transitions (k, k), start (k,), stop (k,) and edges (rows, k, k) or
/// empty.
using Scores = std::tuple<Array, Array, Array, Array, Array>;

ChainScores chain_scores(const Scores& arrays, std::span<const std::int64_t> offsets) {
  const auto& [unary, transitions, start, stop, edges] = arrays;
  const auto rows = static_cast<std::size_t>(offsets.back());
  const Vectors found = vectors(unary, "unary", rows);
  const std::size_t k = start.size();
  if (found.flat || k == 0 || found.width < k) value_problem("unary must be (rows, k) or wider");
  std::span<const double> added;
  if (edges.size() > 0) {
    check_elements<double>(edges, "edges");
    check_size(edges.size(), rows * k * k, "edges");
    added = {static_cast<const double*>(edges.data()), edges.size()};
  }
  return {found.values,
          offsets,
          square(transitions, k, "transitions"),
          vector<double>(start, "start", k),
          vector<double>(stop, "stop", k),
          added,
          k,
          found.width};
}

ChainScores scores_for(const ChainPass& pass, const Scores& arrays) {
  const ChainScores scores = chain_scores(arrays, pass.offsets());
  check_size(scores.k, pass.labels(), "start");
  return scores;
}

Result log_partition(ChainPass& pass, const Scores& arrays) {
  const ChainScores scores = scores_for(pass, arrays);
  Fresh values({scores.sequences()});
  const std::vector<double> mass(scores.sequences(), 1.0);
  without_gil([&] { pass.run(scores, mass, {.log_partition = values.values()}); });
  return values.hand_over();
}

/// Log-partition, marginals, and the sum of mass times those of transitions.
using Marginals = std::tuple<Result, Result, Result>;

Marginals marginals(ChainPass& pass, const Scores& arrays, const Array& mass) {
  const ChainScores scores = scores_for(pass, arrays);
  const std::size_t k = scores.k;
  const auto weights = vector<double>(mass, "mass", scores.sequences());
  Fresh values({scores.sequences()}), labels({scores.rows(), scores.width}), pairs({k, k});
  without_gil([&] {
    pass.run(
        scores, weights,
        {.log_partition = values.values(), .marginals = labels.values(), .pairs = pairs.values()});
  });
  return {values.hand_over(), labels.hand_over(), pairs.hand_over()};
}

/// Log-partition, score of the labels, mass times (marginals - labels), and the sum of mass times
/// marginals of transitions.
using Slopes = std::tuple<Result, Result, Result, Result>;

Slopes slopes(ChainPass& pass, const Scores& arrays, const Array& labels, const Array& mass) {
  const ChainScores scores = scores_for(pass, arrays);
  const std::size_t k = scores.k, u = scores.sequences();
  if (!scores.edges.empty()) value_problem("slopes takes no scores of edges");
  const auto weights = vector<double>(mass, "mass", u);
  const auto numbers = places(labels, "labels", k);
  check_size(numbers.size(), scores.rows(), "labels");
  Fresh values({u}), path({u}), differences({scores.rows(), scores.width}), pairs({k, k});
  without_gil([&] {
    pass.run(scores, weights,
             {.log_partition = values.values(),
              .marginals = differences.values(),
              .pairs = pairs.values(),
              .labels = numbers,
              .path = path.values()});
  });
  return {values.hand_over(), path.hand_over(), differences.hand_over(), pairs.hand_over()};
}

/// The same with the marginals of every edge, and the entropy.
using Details = std::tuple<Result, Result, Result, Result>;

Details details(ChainPass& pass, const Scores& arrays) {
  const ChainScores scores = scores_for(pass, arrays);
  const std::size_t k = scores.k, n = scores.rows();
  const std::vector<double> mass(scores.sequences(), 1.0);
  Fresh values({scores.sequences()}), labels({n, scores.width}), edges({n, k, k}), pairs({k, k});
  Fresh entropy({scores.sequences()});
  without_gil([&] {
    pass.run(scores, mass,
             {.log_partition = values.values(),
              .marginals = labels.values(),
              .pairs = pairs.values(),
              .edge_pairs = edges.values(),
              .entropy = entropy.values()});
  });
  return {values.hand_over(), labels.hand_over(), edges.hand_over(), entropy.hand_over()};
}

Result entropy(ChainPass& pass, const Scores& arrays) {
  const ChainScores scores = scores_for(pass, arrays);
  const std::size_t k = scores.k, u = scores.sequences();
  const std::vector<double> mass(u, 1.0);
  Fresh values({u}), labels({scores.rows(), scores.width}), pairs({k, k}), found({u});
  without_gil([&] {
    pass.run(scores, mass,
             {.log_partition = values.values(),
              .marginals = labels.values(),
              .pairs = pairs.values(),
              .entropy = found.values()});
  });
  return found.hand_over();
}

std::pair<Result, Result> product(ChainPass& pass, const Array& unary, const Array& transitions,
                                  const Array& start, const Array& stop) {
  if (!pass.ready()) value_problem("marginals without scores of edges must be found first");
  const std::size_t k = pass.labels();
  const auto rows = static_cast<std::size_t>(pass.offsets().back());
  const Vectors moved = vectors(unary, "unary", rows);
  if (moved.flat || moved.width < k) value_problem("unary must be (rows, k) or wider");
  const ChainDirection direction{moved.values, square(transitions, k, "transitions"),
                                 vector<double>(start, "start", k),
                                 vector<double>(stop, "stop", k)};
  Fresh labels({rows, moved.width}), pairs({k, k});
  without_gil([&] { pass.product(direction, labels.values(), pairs.values()); });
  return {labels.hand_over(), pairs.hand_over()};
}

std::span<std::int64_t> to_fill(const MutableArray& labels, std::size_t size) {
  check_elements<std::int64_t>(labels, "labels");
  check_size(labels.size(), size, "labels");
  return {static_cast<std::int64_t*>(labels.data()), labels.size()};
}

Result best(const Array& offsets, const Scores& arrays, const MutableArray& labels) {
  const ChainScores scores = chain_scores(arrays, begins(offsets));
  const auto to = to_fill(labels, scores.rows());
  Fresh values({scores.sequences()});
  without_gil([&] { best_paths(scores, to, values.values()); });
  return values.hand_over();
}

Result several_best(const Array& offsets, const Scores& arrays, std::int64_t how_many,
                    const MutableArray& labels) {
  const ChainScores scores = chain_scores(arrays, begins(offsets));
  const std::size_t number = count(how_many, "count");
  const auto to = to_fill(labels, number * scores.rows());
  Fresh values({scores.sequences(), number});
  without_gil([&] { best_paths(scores, number, to, values.values()); });
  return values.hand_over();
}

void sampled(const Array& offsets, const Scores& arrays, const Array& uniform,
             const MutableArray& labels) {
  const ChainScores scores = chain_scores(arrays, begins(offsets));
  const Vectors numbers = vectors(uniform, "uniform");
  if (numbers.flat || numbers.width != scores.rows())
    value_problem("uniform must be (count, rows)");
  const auto to = to_fill(labels, numbers.values.size());
  without_gil([&] { sample_paths(scores, numbers.rows, numbers.values, to); });
}

}  // namespace

void bind_chain(nb::module_& m) {
  using nb::arg;
  nb::class_<ChainPass>(m, "ChainPass",
                        "Sum-product over chains of k labels; keeps its last pass for `product`.")
      .def(
          "__init__",
          [](ChainPass* pass, const Array& offsets, std::int64_t k) {
            if (k < 1) value_problem("k must be at least 1");
            new (pass) ChainPass(begins(offsets), static_cast<std::size_t>(k));
          },
          arg("offsets"), arg("k"))
      .def("log_partition", &log_partition, arg("scores"), "log sum exp(score) of every sequence.")
      .def("marginals", &marginals, arg("scores"), arg("mass"),
           "(log-partition, marginals of labels, sum of mass times those of transitions).")
      .def("slopes", &slopes, arg("scores"), arg("labels"), arg("mass"),
           "(log-partition, score of the labels, mass times marginals minus labels, sum of mass "
           "times marginals of transitions).")
      .def("details", &details, arg("scores"),
           "(log-partition, marginals of labels, those of every transition, entropy).")
      .def("entropy", &entropy, arg("scores"), "The entropy of every sequence.")
      .def("product", &product, arg("unary"), arg("transitions"), arg("start"), arg("stop"),
           "Mass times the derivative of the last marginals along a direction: (labels, "
           "transitions).");
  m.def("chain_best", &best, arg("offsets"), arg("scores"), arg("labels").noconvert(),
        "The greatest score of every sequence; its labels are filled in.");
  m.def("chain_several_best", &several_best, arg("offsets"), arg("scores"), arg("count"),
        arg("labels").noconvert(),
        "The greatest scores of every sequence in decreasing order; their labels are filled in.");
  m.def("chain_sample", &sampled, arg("offsets"), arg("scores"), arg("uniform"),
        arg("labels").noconvert(), "Fills in labellings drawn by uniform numbers.");
}

}  // namespace minimand::python
