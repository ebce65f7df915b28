#include "clusters/moves.hpp"
#include "clusters/online.hpp"
#include "clusters/search.hpp"
#include "clusters/seeding.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// The measure (0 squares, 1 gaps), weights and factors of rows, and the middle; the last three may
/// be empty.
using RowFacts = std::tuple<std::int64_t, Array, Array, Array>;

std::span<const double> optional_vector(const Array& array, const char* name, std::size_t size) {
  return vector<double>(array, name, array.size() == 0 ? 0 : size);
}

SearchSettings settings_of(const RowFacts& facts, std::size_t n, std::size_t d, std::int64_t k,
                           bool sparse, bool remember) {
  const auto& [measure, weights, factors, middle] = facts;
  if (measure < 0 || measure > 1) value_problem("the measure must be 0 or 1");
  if (k < 1) value_problem("there must be at least one cluster");
  if (n > std::numeric_limits<std::uint32_t>::max()) value_problem("X has too many rows");
  if (sparse && middle.size() > 0) value_problem("sparse rows have no middle");
  if (measure == 1 && (factors.size() > 0 || middle.size() > 0)) {
    value_problem("gaps take neither factors nor a middle");
  }
  return {static_cast<Measure>(measure),          static_cast<std::size_t>(k),
          optional_vector(weights, "weights", n), optional_vector(factors, "factors", n),
          optional_vector(middle, "middle", d),   remember};
}

template <class Matrix>
constexpr bool is_sparse(const Matrix&) {
  return RowOf<Matrix>::kSparse;
}

/// New memory for labels, handed over to NumPy.
nb::ndarray<nb::numpy, std::int32_t> labels_array(std::unique_ptr<std::int32_t[]> memory,
                                                  std::size_t size) {
  std::int32_t* const data = memory.get();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::int32_t*>(p); });
  memory.release();
  return {data, {size}, owner};
}

/// A search, and the arrays that it looks at.
class HeldSearch {
 public:
  template <class Rows>
  HeldSearch(const Rows& X, std::int64_t clusters, RowFacts facts, bool remember)
      : facts_(std::move(facts)) {
    search_ = with_rows(X, [&](const auto& matrix, std::size_t n, std::size_t d) {
      const auto settings = settings_of(facts_, n, d, clusters, is_sparse(matrix), remember);
      return without_gil([&] { return make_search(matrix, settings); });
    });
  }

  std::tuple<std::int64_t, double, bool> assign(const Array& centers) {
    const Vectors given = vectors(centers, "centers", search_->clusters());
    check_size(given.width, search_->columns(), "a centre");
    const SearchPass pass = without_gil([&] { return search_->assign(given.values); });
    assigned_ = true;
    return {static_cast<std::int64_t>(pass.moved), pass.share, pass.complete};
  }

  void reset() {
    search_->reset();
    assigned_ = false;
  }

  void relabel(std::int64_t row, std::int64_t cluster) {
    check_assigned();
    if (row < 0 || static_cast<std::size_t>(row) >= search_->rows()) value_problem("no such row");
    if (cluster < 0 || static_cast<std::size_t>(cluster) >= search_->clusters()) {
      value_problem("no such cluster");
    }
    search_->relabel(static_cast<std::size_t>(row), static_cast<std::int32_t>(cluster));
  }

  Result distances() const {
    check_assigned();
    Fresh result({search_->rows()});
    without_gil([&] { search_->distances(result.values()); });
    return result.hand_over();
  }

  std::pair<Result, Result> sums() {
    check_assigned();
    Fresh sums({search_->clusters(), search_->columns()}), masses({search_->clusters()});
    without_gil([&] { search_->sums(sums.values(), masses.values()); });
    return {sums.hand_over(), masses.hand_over()};
  }

  nb::ndarray<nb::numpy, std::int32_t> labels() const {
    const auto labels = search_->labels();
    auto memory = std::make_unique<std::int32_t[]>(labels.size());
    std::copy(labels.begin(), labels.end(), memory.get());
    return labels_array(std::move(memory), labels.size());
  }

 private:
  void check_assigned() const {
    if (!assigned_) value_problem("call assign first");
  }

  RowFacts facts_;
  std::unique_ptr<CenterSearch> search_;
  bool assigned_ = false;
};

template <class Rows>
nb::ndarray<nb::numpy, std::int64_t> seed_rows(const Rows& X, std::int64_t clusters,
                                               const RowFacts& facts, std::int64_t first,
                                               const Array& uniforms) {
  return with_rows(X, [&](const auto& matrix, std::size_t n, std::size_t d) {
    const auto settings = settings_of(facts, n, d, clusters, is_sparse(matrix), false);
    const Vectors numbers = vectors(uniforms, "uniforms", settings.clusters - 1);
    if (numbers.flat || numbers.width == 0) value_problem("uniforms must have trials as columns");
    if (first < 0 || static_cast<std::size_t>(first) >= n) value_problem("no such row");
    auto memory = std::make_unique<std::int64_t[]>(settings.clusters);
    const std::span<std::int64_t> chosen(memory.get(), settings.clusters);
    without_gil([&] {
      seed_centers(matrix, settings, static_cast<std::size_t>(first), numbers.values, numbers.width,
                   chosen);
    });
    std::int64_t* const data = memory.get();
    const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<std::int64_t*>(p); });
    memory.release();
    return nb::ndarray<nb::numpy, std::int64_t>(data, {chosen.size()}, owner);
  });
}

template <class Rows>
nb::ndarray<nb::numpy, std::int32_t> learn_means(const Rows& X, const Array& weights,
                                                 const MutableArray& centers,
                                                 const MutableArray& counts) {
  return with_rows(X, [&](const auto& matrix, std::size_t n, std::size_t d) {
    const auto masses = optional_vector(weights, "weights", n);
    if (counts.ndim() != 1 || counts.size() == 0) value_problem("counts must be a vector");
    const auto sizes = mutable_vector(counts, "counts", counts.size());
    check_elements<double>(centers, "centers");
    check_size(centers.size(), sizes.size() * d, "centers");
    const std::span<double> means(static_cast<double*>(centers.data()), centers.size());
    auto memory = std::make_unique<std::int32_t[]>(n);
    const std::span<std::int32_t> labels(memory.get(), n);
    without_gil([&] { learn_online(matrix, masses, means, sizes, labels); });
    return labels_array(std::move(memory), n);
  });
}

/// One pass of single moves: changes centers and masses in place; the labels, and how many moved.
template <class Rows>
std::pair<nb::ndarray<nb::numpy, std::int32_t>, std::int64_t> improve_rows(
    const Rows& X, const Array& weights, const MutableArray& centers, const MutableArray& masses,
    const Array& labels) {
  return with_rows(X, [&](const auto& matrix, std::size_t n, std::size_t d) {
    const auto given = optional_vector(weights, "weights", n);
    if (masses.ndim() != 1 || masses.size() == 0) value_problem("masses must be a vector");
    const auto sizes = mutable_vector(masses, "masses", masses.size());
    check_elements<double>(centers, "centers");
    check_size(centers.size(), sizes.size() * d, "centers");
    const std::span<double> means(static_cast<double*>(centers.data()), centers.size());
    const auto before = vector<std::int32_t>(labels, "labels", n);
    for (const std::int32_t label : before) {
      if (label < 0 || static_cast<std::size_t>(label) >= sizes.size()) {
        value_problem("no such cluster");
      }
    }
    auto memory = std::make_unique<std::int32_t[]>(n);
    std::copy(before.begin(), before.end(), memory.get());
    const std::span<std::int32_t> now(memory.get(), n);
    const std::size_t moved =
        without_gil([&] { return move_rows(matrix, given, means, sizes, now); });
    return std::pair{labels_array(std::move(memory), n), static_cast<std::int64_t>(moved)};
  });
}

template <class Rows>
void bind_rows(nb::module_& m, nb::class_<HeldSearch>& search) {
  using nb::arg;
  search.def(nb::init<const Rows&, std::int64_t, RowFacts, bool>(), arg("X"), arg("clusters"),
             arg("facts"), arg("remember"), nb::keep_alive<1, 2>());
  m.def("seed_rows", &seed_rows<Rows>, arg("X"), arg("clusters"), arg("facts"), arg("first"),
        arg("uniforms"), "Rows chosen as first centres by greedy k-means++.");
  m.def("learn_means", &learn_means<Rows>, arg("X"), arg("weights"), arg("centers").noconvert(),
        arg("counts").noconvert(),
        "Online k-means: changes centers and counts in place, and returns the labels.");
  m.def("improve_rows", &improve_rows<Rows>, arg("X"), arg("weights"), arg("centers").noconvert(),
        arg("masses").noconvert(), arg("labels"),
        "A pass of single moves: changes centers and masses in place; the labels, and how many "
        "moved.");
}

}  // namespace

void bind_clusters(nb::module_& m) {
  using nb::arg;
  nb::class_<HeldSearch> search(
      m, "CenterSearch", "The nearest centre of every row, found anew while the centres move.");
  bind_rows<CheckedMatrix>(m, search);
  bind_rows<Array>(m, search);
  search
      .def("assign", &HeldSearch::assign, arg("centers"),
           "Label all rows; the rows moved, the share of pairs compared, whether it is complete.")
      .def("reset", &HeldSearch::reset, "Forget the labels.")
      .def("relabel", &HeldSearch::relabel, arg("row"), arg("cluster"), "Move one row.")
      .def("distances", &HeldSearch::distances,
           "The distances of rows from their centres, squared under squares.")
      .def("sums", &HeldSearch::sums, "Weighted sums of rows, and of weights, by cluster.")
      .def("labels", &HeldSearch::labels, "A copy of the labels.");
}

}  // namespace minimand::python
