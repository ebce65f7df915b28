#include <algorithm>

#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "trees/diffusion.hpp"
#include "trees/forest.hpp"
#include "trees/plane_ascent.hpp"

namespace minimand::python {
namespace {

using Places = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>;
using Labels = nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>;

/// Numbers as an array that owns them.
template <class Number>
auto handed_over(std::vector<Number> numbers) {
  auto kept = std::make_unique<std::vector<Number>>(std::move(numbers));
  const std::size_t size = kept->size();
  Number* const memory = kept->data();
  const nb::capsule owner(kept.get(),
                          [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
  kept.release();
  return nb::ndarray<nb::numpy, Number, nb::ndim<1>>(memory, {size}, owner);
}

std::span<const std::int64_t> group_starts(const Array& array) {
  const auto starts = vector<std::int64_t>(array, "starts");
  bool rises = !starts.empty() && starts.front() == 0;
  for (std::size_t g = 0; rises && g + 1 < starts.size(); ++g) rises = starts[g] <= starts[g + 1];
  if (!rises) value_problem("starts must rise from 0");
  return starts;
}

/// Pairs of different nodes of one group.
std::span<const std::int64_t> edges_of(const Array& array, std::span<const std::int64_t> starts) {
  check_elements<std::int64_t>(array, "edges");
  if (array.ndim() != 2 || array.shape(1) != 2) value_problem("edges must have two columns");
  const std::span<const std::int64_t> edges(static_cast<const std::int64_t*>(array.data()),
                                            array.size());
  for (std::size_t e = 0; e + 1 < edges.size(); e += 2) {
    const std::int64_t low = std::min(edges[e], edges[e + 1]);
    const std::int64_t high = std::max(edges[e], edges[e + 1]);
    if (low < 0 || high >= starts.back() || low == high) {
      value_problem("edges must join two different nodes");
    }
    const auto after = std::upper_bound(starts.begin(), starts.end(), low);
    if (high >= *after) value_problem("edges must stay within their group");
  }
  return edges;
}

nb::tuple root(const Array& edges, const Array& starts) {
  const auto groups = group_starts(starts);
  const auto pairs = edges_of(edges, groups);
  Rooted found = without_gil([&] { return root_forest(pairs, groups); });
  std::vector<std::int64_t> cyclic(found.cyclic.begin(), found.cyclic.end());
  return nb::make_tuple(handed_over(std::move(found.order)), handed_over(std::move(found.parent)),
                        handed_over(std::move(found.link)), handed_over(std::move(cyclic)));
}

/// Checks scores and the forest that `root` gave: kernels follow its numbers without another look.
ForestScores scores_of(const Array& unary, const Array& pair, const Array& edges,
                       const Array& starts, const nb::tuple& rooted) {
  const auto groups = group_starts(starts);
  const auto n = static_cast<std::size_t>(groups.back());
  const auto pairs = edges_of(edges, groups);
  check_elements<double>(unary, "unary");
  check_elements<double>(pair, "pair");
  if (unary.ndim() != 2 || unary.shape(0) != n || unary.shape(1) == 0) {
    value_problem("unary must have one row per node and a column per label");
  }
  const std::size_t k = unary.shape(1), count = pairs.size() / 2;
  const bool shared = pair.ndim() == 2 && pair.shape(0) == k && pair.shape(1) == k;
  const bool own = pair.ndim() == 3 && pair.shape(0) == count && pair.shape(1) == k &&
                   pair.shape(2) == k && count != 1;
  const bool single = pair.ndim() == 3 && pair.size() == k * k && count == 1;
  if (!shared && !own && !single) value_problem("pair must be (k, k) or (edges, k, k)");
  if (rooted.size() < 3) value_problem("rooted must be (order, parent, link)");
  const auto order = places(nb::cast<Array>(rooted[0]), "order", n);
  const auto parent = vector<std::int64_t>(nb::cast<Array>(rooted[1]), "parent", n);
  const auto link = vector<std::int64_t>(nb::cast<Array>(rooted[2]), "link", n);
  check_size(order.size(), n, "order");
  for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
    for (auto at = groups[g]; at < groups[g + 1]; ++at) {
      const std::int64_t v = order[static_cast<std::size_t>(at)];
      const std::int64_t p = parent[static_cast<std::size_t>(v)];
      const std::int64_t e = link[static_cast<std::size_t>(v)];
      const bool inside = v >= groups[g] && v < groups[g + 1] && p >= -1 &&
                          (p < 0 || (p >= groups[g] && p < groups[g + 1]));
      const bool linked = p < 0 || (e >= 0 && e < static_cast<std::int64_t>(count));
      if (!inside || !linked) value_problem("rooted does not belong to these edges");
    }
  }
  return {k,
          {static_cast<const double*>(unary.data()), unary.size()},
          {static_cast<const double*>(pair.data()), pair.size()},
          pairs,
          groups,
          order,
          parent,
          link};
}

auto diffuse(const Array& unary, const Array& pair, const Array& edges, std::int64_t passes,
             const MutableArray& messages) {
  check_elements<double>(unary, "unary");
  check_elements<double>(pair, "pair");
  if (unary.ndim() != 2 || unary.shape(1) == 0) value_problem("unary must have two dimensions");
  const std::size_t n = unary.shape(0), k = unary.shape(1);
  const std::vector<std::int64_t> groups{0, static_cast<std::int64_t>(n)};
  const auto pairs = edges_of(edges, groups);
  const std::size_t own = pairs.size() / 2 * k;
  if (pair.size() != k * k && pair.size() != own * k) {
    value_problem("pair must be (k, k) or (edges, k, k)");
  }
  const GraphScores scores{k,
                           {static_cast<const double*>(unary.data()), unary.size()},
                           {static_cast<const double*>(pair.data()), pair.size()},
                           pairs};
  const auto changed = mutable_vector(messages, "messages", 2 * own);
  std::vector<std::int32_t> labels(n);
  const std::size_t count = python::count(passes, "passes");
  without_gil([&] { diffuse_messages(scores, count, changed, labels); });
  return handed_over(std::move(labels));
}

nb::tuple best(const Array& unary, const Array& pair, const Array& edges, const Array& starts,
               const nb::tuple& rooted) {
  const ForestScores scores = scores_of(unary, pair, edges, starts, rooted);
  std::vector<std::int32_t> labels(scores.nodes());
  Fresh values({scores.starts.size() - 1});
  without_gil([&] { forest_best(scores, labels, values.values()); });
  return nb::make_tuple(handed_over(std::move(labels)), values.hand_over());
}

nb::tuple sums(const Array& unary, const Array& pair, const Array& edges, const Array& starts,
               const nb::tuple& rooted, bool by_edge, const nb::object& mass) {
  const ForestScores scores = scores_of(unary, pair, edges, starts, rooted);
  const std::size_t groups = scores.starts.size() - 1, k = scores.k;
  const std::size_t count = by_edge ? scores.edges.size() / 2 : 0;
  Fresh log_partition({groups}), nodes({scores.nodes(), k}), pairs({count, k, k});
  const bool totals = !mass.is_none();
  Fresh total({totals ? k : 0, k});
  std::span<const double> weights;
  if (totals) weights = vector<double>(nb::cast<Array>(mass), "mass", groups);
  std::fill(pairs.values().begin(), pairs.values().end(), 0.0);
  without_gil([&] {
    forest_sums(scores,
                {log_partition.values(), nodes.values(), pairs.values(), weights, total.values()});
  });
  return nb::make_tuple(log_partition.hand_over(), nodes.hand_over(), pairs.hand_over(),
                        total.hand_over());
}

auto samples(const Array& unary, const Array& pair, const Array& edges, const Array& starts,
             const nb::tuple& rooted, const Array& uniform) {
  const ForestScores scores = scores_of(unary, pair, edges, starts, rooted);
  const auto numbers = vector<double>(uniform, "uniform", scores.nodes());
  std::vector<std::int32_t> labels(scores.nodes());
  without_gil([&] { forest_samples(scores, numbers, labels); });
  return handed_over(std::move(labels));
}

/// Feature rows that a `PlaneAscent` reads, and the arrays that keep their memory.
struct KeptRows {
  FeatureRows rows;
  std::size_t count = 0;
  std::vector<Array> arrays;

  explicit KeptRows(const nb::tuple& given) {
    if (given.size() == 1) {
      const auto values = nb::cast<Array>(given[0]);
      check_elements<double>(values, "rows");
      if (values.ndim() != 2) value_problem("rows must have two dimensions");
      rows = {values.shape(1), {static_cast<const double*>(values.data()), values.size()}, {}, {}};
      count = values.shape(0);
      arrays = {values};
      return;
    }
    if (given.size() != 4) value_problem("rows are (dense,) or (indptr, indices, data, columns)");
    arrays = {nb::cast<Array>(given[0]), nb::cast<Array>(given[1]), nb::cast<Array>(given[2])};
    const auto starts = group_starts(arrays[0]);
    const auto columns = static_cast<std::size_t>(nb::cast<std::int64_t>(given[3]));
    const auto stored = static_cast<std::size_t>(starts.back());
    const auto indices = vector<std::int32_t>(arrays[1], "indices", stored);
    for (const std::int32_t place : indices) {
      if (place < 0 || static_cast<std::size_t>(place) >= columns) {
        value_problem("indices must be numbers of columns");
      }
    }
    rows = {columns, vector<double>(arrays[2], "data", stored), starts, indices};
    count = starts.size() - 1;
  }
};

/// `PlaneAscent` with the arrays that it looks at.
class Ascent {
 public:
  Ascent(const nb::tuple& nodes, const nb::tuple& edges, std::int64_t k, const Array& mass,
         double alpha, const nb::object& present, const nb::object& l1)
      : nodes_(nodes),
        edges_(edges),
        ascent_(nodes_.rows, edges_.rows, nodes_.count, edges_.count, count(k, "k"),
                copied(vector<double>(mass, "mass")), alpha, mask_of(present), mask_of(l1)) {
    if (!(alpha > 0.0)) value_problem("alpha must be positive");
    if (!present.is_none()) {
      check_size(nb::cast<Array>(present).size(), nodes_.rows.columns * count(k, "k"), "present");
    }
    if (!l1.is_none()) {
      check_size(nb::cast<Array>(l1).size(), ascent_.coefficients(), "l1");
    }
  }

  void centre(double alpha, const Array& base) {
    if (!(alpha > 0.0)) value_problem("alpha must be positive");
    ascent_.centre(alpha, vector<double>(base, "base", ascent_.coefficients()));
  }

  void add(const Array& units, const Array& costs, const Array& starts, const Array& rows,
           const Array& labels, const Array& values) {
    const auto unit = places(units, "units", ascent_.units());
    const auto cost = vector<double>(costs, "costs", unit.size());
    const auto from = group_starts(starts);
    check_size(from.size(), unit.size() + 1, "starts");
    const auto size = static_cast<std::size_t>(from.back());
    const auto row = places(rows, "rows", ascent_.rows());
    const auto label = vector<std::int32_t>(labels, "labels", size);
    const auto value = vector<double>(values, "values", size);
    check_size(row.size(), size, "rows");
    std::vector<Entry> entries(size);
    for (std::size_t e = 0; e < size; ++e) {
      const auto limit =
          static_cast<std::int64_t>(ascent_.labels_of(static_cast<std::size_t>(row[e])));
      if (label[e] < 0 || label[e] >= limit) value_problem("labels are out of range");
      entries[e] = {row[e], label[e], value[e]};
    }
    without_gil([&] {
      for (std::size_t p = 0; p < unit.size(); ++p) {
        const auto first = static_cast<std::size_t>(from[p]);
        const auto last = static_cast<std::size_t>(from[p + 1]);
        ascent_.add(static_cast<std::size_t>(unit[p]), cost[p],
                    std::span<const Entry>(entries).subspan(first, last - first));
      }
    });
  }

  nb::tuple run(std::int64_t passes, double enough, std::int64_t seed) {
    const auto outcome = without_gil([&] {
      return ascent_.run(count(passes, "passes"), enough, static_cast<std::uint64_t>(seed));
    });
    return nb::make_tuple(outcome.slack, outcome.passes);
  }

  nb::tuple list(bool with_rows) {
    const std::size_t m = ascent_.planes();
    Fresh rows({with_rows ? m : 0, ascent_.coefficients()}), costs({m}), betas({m}), units({m});
    without_gil(
        [&] { ascent_.list(rows.values(), costs.values(), betas.values(), units.values()); });
    return nb::make_tuple(rows.hand_over(), costs.hand_over(), betas.hand_over(),
                          units.hand_over());
  }

  void place(const Array& betas) {
    const auto given = vector<double>(betas, "betas", ascent_.planes());
    for (const double beta : given) {
      if (!(beta >= 0.0)) value_problem("betas must not be negative");
    }
    ascent_.place(given);
  }

  double refresh() {
    return without_gil([&] { return ascent_.refresh(); });
  }

  nb::tuple measure(const Array& weights) {
    const auto v = vector<double>(weights, "weights", ascent_.coefficients());
    Fresh held({ascent_.units()}), top({ascent_.units()});
    without_gil([&] { ascent_.measure(v, held.values(), top.values()); });
    return nb::make_tuple(held.hand_over(), top.hand_over());
  }

  void forget(std::int64_t age) {
    without_gil([&] { ascent_.forget(count(age, "age")); });
  }

  Result weights() {
    Fresh copy({ascent_.coefficients()});
    std::copy(ascent_.weights().begin(), ascent_.weights().end(), copy.values().begin());
    return copy.hand_over();
  }

  Result slope() {
    Fresh copy({ascent_.coefficients()});
    std::copy(ascent_.slope().begin(), ascent_.slope().end(), copy.values().begin());
    return copy.hand_over();
  }

  std::size_t planes() const { return ascent_.planes(); }

 private:
  std::vector<double> mask_of(const nb::object& present) const {
    if (present.is_none()) return {};
    return copied(vector<double>(nb::cast<Array>(present), "present"));
  }
  static std::vector<double> copied(std::span<const double> values) {
    return {values.begin(), values.end()};
  }

  KeptRows nodes_, edges_;
  PlaneAscent ascent_;
};

}  // namespace

void bind_trees(nb::module_& m) {
  using nb::arg;
  m.def("root_forest", &root, arg("edges"), arg("starts"),
        "Parents before children: (order, parent, edge to the parent, whether each group has a "
        "cycle).");
  m.def("forest_best", &best, arg("unary"), arg("pair"), arg("edges"), arg("starts"), arg("rooted"),
        "The labelling of the largest score of every group, and that score.");
  m.def("forest_sums", &sums, arg("unary"), arg("pair"), arg("edges"), arg("starts"), arg("rooted"),
        arg("by_edge"), arg("mass").none(),
        "Log-partition, marginals of nodes and of edges, and the sum of mass times the latter.");
  m.def("forest_samples", &samples, arg("unary"), arg("pair"), arg("edges"), arg("starts"),
        arg("rooted"), arg("uniform"), "A labelling of every group drawn by its score.");
  m.def("diffuse_messages", &diffuse, arg("unary"), arg("pair"), arg("edges"), arg("passes"),
        arg("messages"),
        "Change the messages of a graph so that their bound falls; a labelling near it.");
  nb::class_<Ascent>(m, "PlaneAscent",
                     "Ascent on the dual of max-margin training over labellings met so far.")
      .def(nb::init<const nb::tuple&, const nb::tuple&, std::int64_t, const Array&, double,
                    const nb::object&, const nb::object&>(),
           arg("nodes"), arg("edges"), arg("k"), arg("mass"), arg("alpha"), arg("present").none(),
           arg("l1").none())
      .def("centre", &Ascent::centre, arg("alpha"), arg("base"),
           "Other values of alpha and base; refresh must follow.")
      .def("add", &Ascent::add, arg("units"), arg("costs"), arg("starts"), arg("rows"),
           arg("labels"), arg("values"), "Add planes, whose entries lie one after the other.")
      .def("run", &Ascent::run, arg("passes"), arg("enough"), arg("seed"),
           "Visit all units; what their linear terms could gain, and the passes made.")
      .def("list", &Ascent::list, arg("with_rows"),
           "All planes, unit by unit: vectors, costs, betas and units.")
      .def("place", &Ascent::place, arg("betas"), "Set all betas; refresh must follow.")
      .def("refresh", &Ascent::refresh, "Sum the weights anew; the dual objective.")
      .def("measure", &Ascent::measure, arg("weights"),
           "Mean and maximum of the planes of every unit at some weights.")
      .def("forget", &Ascent::forget, arg("age"), "Drop planes that were idle for so many passes.")
      .def("weights", &Ascent::weights, "A copy of the weights, block by block.")
      .def("slope", &Ascent::slope, "A copy of g, as of the last refresh.")
      .def_prop_ro("planes", &Ascent::planes, "How many planes there are.");
}

}  // namespace minimand::python
