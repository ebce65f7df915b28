#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "structures/graphs.hpp"
#include "structures/keys.hpp"
#include "structures/subsequences.hpp"
#include "structures/trees.hpp"

namespace minimand::python {
namespace {

using Table = nb::ndarray<nb::numpy, std::int64_t>;

/// Numbers as an array that owns them.
template <class Number>
auto owned(std::vector<Number> numbers, std::vector<std::size_t> shape) {
  auto kept = std::make_unique<std::vector<Number>>(std::move(numbers));
  Number* const memory = kept->data();
  const nb::capsule owner(kept.get(),
                          [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
  kept.release();
  return nb::ndarray<nb::numpy, Number>(memory, shape.size(), shape.data(), owner);
}

template <class Number>
auto owned(std::vector<Number> numbers) {
  const std::size_t size = numbers.size();
  return owned(std::move(numbers), {size});
}

/// Records as the rows of a matrix.
Table table(std::vector<std::int64_t> records, std::size_t width) {
  const std::size_t count = records.size() / width;
  return owned(std::move(records), {count, width});
}

/// Keys, which Python holds as signed integers.
std::span<const std::uint64_t> keys_of(const Array& array, const char* name) {
  const auto keys = vector<std::int64_t>(array, name);
  return {reinterpret_cast<const std::uint64_t*>(keys.data()), keys.size()};
}

/// Where items begin, and the end: numbers that rise from 0 to `total`.
std::span<const std::int64_t> starts_of(const Array& array, const char* name, std::size_t total) {
  const auto starts = vector<std::int64_t>(array, name);
  bool rises = !starts.empty() && starts.front() == 0;
  for (std::size_t i = 0; rises && i + 1 < starts.size(); ++i) rises = starts[i] <= starts[i + 1];
  if (!rises || static_cast<std::size_t>(starts.back()) != total) {
    value_problem(std::string(name) + " must rise from 0 to " + std::to_string(total));
  }
  return starts;
}

/// Numbers of at least `least` and below `limit`.
std::span<const std::int32_t> numbers(const Array& array, const char* name, std::int64_t least,
                                      std::int64_t limit) {
  const auto found = vector<std::int32_t>(array, name);
  for (const std::int32_t one : found) {
    if (one < least || one >= limit) {
      value_problem(std::string(name) + " holds a number out of range");
    }
  }
  return found;
}

/// Refuses links that leave the group of their node. Children come before their node, or are -1.
void check_links(std::span<const std::int64_t> groups, std::span<const std::int64_t> starts,
                 std::span<const std::int64_t> links, bool children) {
  for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
    for (std::int64_t node = groups[g]; node < groups[g + 1]; ++node) {
      const std::int64_t limit = children ? node : groups[g + 1];
      const auto at = static_cast<std::size_t>(node);
      for (std::int64_t k = starts[at]; k < starts[at + 1]; ++k) {
        const std::int64_t link = links[static_cast<std::size_t>(k)];
        if (children && link == -1) continue;
        if (link < groups[g] || link >= limit) value_problem("a link leads out of its group");
      }
    }
  }
}

auto mix_keys(const Array& first, const nb::object& second) {
  const auto keys = keys_of(first, "first");
  std::span<const std::uint64_t> others;
  if (!second.is_none()) {
    others = keys_of(nb::cast<Array>(second), "second");
    check_size(others.size(), keys.size(), "second");
  }
  std::vector<std::int64_t> result(keys.size());
  without_gil([&] {
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const std::uint64_t key = second.is_none() ? mixed(keys[k]) : joined(keys[k], others[k]);
      result[k] = static_cast<std::int64_t>(key);
    }
  });
  return owned(std::move(result));
}

nb::tuple key_counts(const Array& keys, const Array& starts, const nb::object& times,
                     const nb::object& known) {
  const auto given = keys_of(keys, "keys");
  const auto groups = starts_of(starts, "starts", given.size());
  std::span<const double> weights;
  if (!times.is_none()) weights = vector<double>(nb::cast<Array>(times), "times", given.size());
  std::span<const std::uint64_t> vocabulary;
  if (!known.is_none()) vocabulary = keys_of(nb::cast<Array>(known), "known");
  KeyCounts found =
      without_gil([&] { return count_keys(given, groups, weights, !known.is_none(), vocabulary); });
  return nb::make_tuple(owned(std::move(found.starts)), owned(std::move(found.numbers)),
                        owned(std::move(found.counts)), owned(std::move(found.first)));
}

auto key_numbers(const Array& known, const Array& keys) {
  const auto vocabulary = keys_of(known, "known"), given = keys_of(keys, "keys");
  std::vector<std::int32_t> numbers(given.size());
  without_gil([&] {
    Numbering numbering(vocabulary.size());
    for (const std::uint64_t key : vocabulary) numbering.number(key);
    for (std::size_t k = 0; k < given.size(); ++k) numbers[k] = numbering.known(given[k]);
  });
  return owned(std::move(numbers));
}

Sequences sequences(const nb::tuple& arrays) {
  if (arrays.size() != 2) value_problem("sequences are (symbols, starts)");
  const auto symbols = numbers(nb::cast<Array>(arrays[0]), "symbols", -1, std::int64_t{1} << 31);
  return {symbols, starts_of(nb::cast<Array>(arrays[1]), "starts", symbols.size())};
}

void check_subsequences(std::int64_t length, double decay) {
  if (length < 1) value_problem("length must be at least 1");
  if (!(decay > 0.0 && decay <= 1.0)) value_problem("decay must be above 0 and at most 1");
}

Result subsequences(const nb::tuple& left, const nb::object& right, std::int64_t length,
                    double decay) {
  check_subsequences(length, decay);
  const bool same = right.is_none();
  const Sequences one = sequences(left), other = same ? one : sequences(nb::cast<nb::tuple>(right));
  Fresh gram({one.count(), other.count()});
  without_gil([&] {
    subsequence_gram(one, other, same, static_cast<std::size_t>(length), decay, gram.values());
  });
  return gram.hand_over();
}

Result own_subsequences(const nb::tuple& given, std::int64_t length, double decay) {
  check_subsequences(length, decay);
  const Sequences found = sequences(given);
  Fresh diagonal({found.count()});
  without_gil([&] {
    subsequence_diagonal(found, static_cast<std::size_t>(length), decay, diagonal.values());
  });
  return diagonal.hand_over();
}

/// Checks that nodes of one production have equally many children, here and in all trees before.
void check_arity(const Trees& trees, std::vector<std::int64_t>& arity) {
  for (std::size_t node = 0; node < trees.production.size(); ++node) {
    const std::int64_t children = trees.child_starts[node + 1] - trees.child_starts[node];
    const std::int32_t production = trees.production[node];
    if (production < 0) continue;
    std::int64_t& known = arity[static_cast<std::size_t>(production)];
    if (known >= 0 && known != children) value_problem("a production has one number of children");
    known = children;
  }
}

Trees trees(const nb::tuple& arrays, std::int64_t productions) {
  if (arrays.size() != 4) value_problem("trees are (starts, production, child_starts, children)");
  const auto production = numbers(nb::cast<Array>(arrays[1]), "production", -1, productions);
  const auto starts = starts_of(nb::cast<Array>(arrays[0]), "starts", production.size());
  const auto children = vector<std::int64_t>(nb::cast<Array>(arrays[3]), "children");
  const auto child_starts = starts_of(nb::cast<Array>(arrays[2]), "child_starts", children.size());
  check_size(child_starts.size(), production.size() + 1, "child_starts");
  check_links(starts, child_starts, children, true);
  return {starts, production, child_starts, children, static_cast<std::size_t>(productions)};
}

Result subset_trees(const nb::tuple& left, const nb::object& right, std::int64_t productions,
                    double decay) {
  std::vector<std::int64_t> arity(count(productions, "productions"), -1);
  const bool same = right.is_none();
  const Trees one = trees(left, productions);
  const Trees other = same ? one : trees(nb::cast<nb::tuple>(right), productions);
  check_arity(one, arity);
  check_arity(other, arity);
  Fresh gram({one.count(), other.count()});
  without_gil([&] { subset_tree_gram(one, other, same, decay, gram.values()); });
  return gram.hand_over();
}

Result own_subset_trees(const nb::tuple& given, std::int64_t productions, double decay) {
  std::vector<std::int64_t> arity(count(productions, "productions"), -1);
  const Trees found = trees(given, productions);
  check_arity(found, arity);
  Fresh diagonal({found.count()});
  without_gil([&] { subset_tree_diagonal(found, decay, diagonal.values()); });
  return diagonal.hand_over();
}

Graphs graphs(const nb::tuple& arrays) {
  if (arrays.size() != 4) {
    value_problem("graphs are (starts, labels, neighbor_starts, neighbors)");
  }
  const auto labels = numbers(nb::cast<Array>(arrays[1]), "labels", 0, kMostLabels);
  const auto starts = starts_of(nb::cast<Array>(arrays[0]), "starts", labels.size());
  const auto neighbors = vector<std::int64_t>(nb::cast<Array>(arrays[3]), "neighbors");
  const auto neighbor_starts =
      starts_of(nb::cast<Array>(arrays[2]), "neighbor_starts", neighbors.size());
  check_size(neighbor_starts.size(), labels.size() + 1, "neighbor_starts");
  check_links(starts, neighbor_starts, neighbors, false);
  return {starts, labels, neighbor_starts, neighbors};
}

Table shortest_paths(const nb::tuple& given) {
  const Graphs found = graphs(given);
  return table(without_gil([&] { return path_counts(found); }), 5);
}

Table subgraphs(const nb::tuple& given, std::int64_t size) {
  if (size < 2 || size > static_cast<std::int64_t>(kLargestSubgraph)) {
    value_problem("subgraphs have 2 to 5 nodes");
  }
  const Graphs found = graphs(given);
  const auto nodes = static_cast<std::size_t>(size);
  return table(without_gil([&] { return subgraph_counts(found, nodes); }), nodes + 3);
}

}  // namespace

void bind_structures(nb::module_& m) {
  using nb::arg;
  m.def("mix_keys", &mix_keys, arg("first"), arg("second").none(),
        "Keys without any pattern, of keys or of pairs of keys.");
  m.def("key_counts", &key_counts, arg("keys"), arg("starts"), arg("times").none(),
        arg("known").none(),
        "How often keys occur in groups: the arrays of a CSR matrix, and where each key came "
        "first; columns are the keys as they come, or those that are known.");
  m.def("key_numbers", &key_numbers, arg("known"), arg("keys"),
        "The places of keys among the known ones, which are all different; -1 for others.");
  m.def("subsequences", &subsequences, arg("left"), arg("right").none(), arg("length"),
        arg("decay"),
        "The gapped subsequence kernel of two lists of sequences, or of one with itself.");
  m.def("own_subsequences", &own_subsequences, arg("sequences"), arg("length"), arg("decay"),
        "The gapped subsequence kernel of every sequence with itself.");
  m.def("subset_trees", &subset_trees, arg("left"), arg("right").none(), arg("productions"),
        arg("decay"), "The subset-tree kernel of two lists of trees, or of one with itself.");
  m.def("own_subset_trees", &own_subset_trees, arg("trees"), arg("productions"), arg("decay"),
        "The subset-tree kernel of every tree with itself.");
  m.def("shortest_paths", &shortest_paths, arg("graphs"),
        "Rows (graph, label, label, distance, number of pairs of nodes).");
  m.def("subgraphs", &subgraphs, arg("graphs"), arg("size"),
        "Rows (graph, labels, edges, number of induced connected subgraphs).");
}

}  // namespace minimand::python
