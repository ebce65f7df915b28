#include <algorithm>

#include "groups/column_quadratic.hpp"
#include "groups/columns.hpp"
#include "groups/gram_quadratic.hpp"
#include "groups/path.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// Numbers of any shape, of which there must be so many.
template <class Element, class AnyArray>
std::span<Element> numbers(const AnyArray& array, const char* name, std::size_t size) {
  check_elements<double>(array, name);
  check_size(array.size(), size, name);
  return {static_cast<Element*>(array.data()), array.size()};
}

/// The first rows of groups, and the end of the last one, which must be `rows`.
std::span<const std::int64_t> runs(const Array& starts, std::size_t rows) {
  const auto found = vector<std::int64_t>(starts, "starts");
  bool good =
      !found.empty() && found.front() == 0 && found.back() == static_cast<std::int64_t>(rows);
  for (std::size_t g = 0; good && g + 1 < found.size(); ++g) good = found[g] <= found[g + 1];
  if (!good) value_problem("starts must rise from 0 to the number of rows");
  return found;
}

/// The arguments that paths on a Gram and on columns have in common.
std::size_t solve(GroupQuadratic& loss, const Array& alphas, std::span<const std::int64_t> starts,
                  const Array& norm, const Array& l1, const Array& l2, const MutableArray& coefs,
                  std::int64_t first, bool started, double target, std::int64_t rounds) {
  const auto places = vector<double>(alphas, "alphas");
  const std::size_t many = places.size(), size = loss.q().size();
  const GroupGrid grid{places,
                       starts,
                       numbers<const double>(norm, "norm", many * (starts.size() - 1)),
                       numbers<const double>(l1, "l1", many * size),
                       numbers<const double>(l2, "l2", many * size),
                       numbers<double>(coefs, "coefs", many * size),
                       loss.scores()};
  const std::size_t begin = count(first, "first");
  const GroupGoal goal{target, count(rounds, "rounds")};
  return without_gil([&] { return solve_groups(loss, grid, begin, started, goal); });
}

/// The linear term, a number for every row and score.
std::span<const double> linear(const Array& q, std::size_t scores) {
  check_elements<double>(q, "q");
  if (scores == 0 || q.size() % scores != 0) value_problem("q must hold a number for every score");
  return {static_cast<const double*>(q.data()), q.size()};
}

/// The origin of the quadratic; none if there are no numbers.
std::span<const double> origin_of(const Array& origin, std::size_t size) {
  return numbers<const double>(origin, "origin", origin.size() == 0 ? 0 : size);
}

std::size_t on_gram(const Array& G, const Array& q, const Array& origin, double square,
                    const Array& alphas, const Array& starts, const Array& norm, const Array& l1,
                    const Array& l2, const MutableArray& coefs, std::int64_t scores,
                    std::int64_t first, bool started, double target, std::int64_t rounds) {
  const std::size_t width = count(scores, "scores");
  const auto slopes = linear(q, width);
  const std::size_t rows = slopes.size() / width;
  check_elements<double>(G, "G");
  if (G.ndim() != 2 || G.shape(0) != G.shape(1) || G.shape(0) < rows) {
    value_problem("G must be a square matrix with a row for every row of q at least");
  }
  const std::span<const double> values(static_cast<const double*>(G.data()), G.size());
  const auto groups = runs(starts, rows);
  GramQuadratic loss({values, G.shape(0), rows}, groups, width);
  loss.pose(slopes, origin_of(origin, slopes.size()), square);
  return solve(loss, alphas, groups, norm, l1, l2, coefs, first, started, target, rounds);
}

/// Columns that quadratics have in common, and what is known of their groups.
class GroupColumns {
 public:
  GroupColumns(const Array& A, const Array& starts, std::int64_t scores)
      : lines_(A), width_(count(scores, "scores")) {
    check_elements<double>(A, "A");
    if (A.ndim() != 2 || width_ == 0) value_problem("A must be a matrix of lines");
    const auto groups = runs(starts, A.shape(0));
    starts_.assign(groups.begin(), groups.end());
    loss_ = std::make_unique<ColumnQuadratic>(values(), A.shape(1), starts_, width_);
  }

  void grow(const Array& A, const Array& starts) {
    check_elements<double>(A, "A");
    if (A.ndim() != 2 || A.shape(1) != lines_.shape(1)) value_problem("A must have as long lines");
    const auto groups = runs(starts, A.shape(0));
    if (groups.size() < starts_.size() ||
        !std::ranges::equal(groups.first(starts_.size()), starts_))
      value_problem("starts must go on from those before");
    lines_ = A;
    starts_.assign(groups.begin(), groups.end());
    loss_->grow(values(), starts_);
  }

  void round(bool rounded) { loss_->round(rounded); }

  std::size_t solve_path(const Array& h, bool centred, const Array& q, const Array& origin,
                         double square, const Array& alphas, const Array& norm, const Array& l1,
                         const Array& l2, const MutableArray& coefs, const MutableArray& image,
                         std::int64_t first, bool started, double target, std::int64_t rounds) {
    const std::size_t n = lines_.shape(1);
    const auto slopes = numbers<const double>(q, "q", lines_.shape(0) * width_);
    const auto weights = numbers<const double>(h, "h", h.size() == 0 ? 0 : n);
    const auto scored = numbers<double>(image, "image", image.size() == 0 ? 0 : n);
    if (!scored.empty() && width_ > 1) value_problem("image must be empty for several scores");
    if (!weights.empty()) loss_->weigh({weights, centred});
    loss_->pose(slopes, origin_of(origin, slopes.size()), square);
    const std::size_t done =
        solve(*loss_, alphas, starts_, norm, l1, l2, coefs, first, started, target, rounds);
    if (!scored.empty()) std::ranges::copy(loss_->image(), scored.begin());
    return done;
  }

 private:
  std::span<const double> values() const {
    return {static_cast<const double*>(lines_.data()), lines_.size()};
  }

  Array lines_;  // keeps the numbers alive
  std::size_t width_;
  std::vector<std::int64_t> starts_;
  std::unique_ptr<ColumnQuadratic> loss_;
};

template <class Matrix>
std::pair<std::int64_t, double> descend(const Matrix& matrix, std::size_t samples,
                                        std::size_t columns, const Array& cols, const Array& h,
                                        const Array& scale, const Array& inverse,
                                        const MutableArray& q, const MutableArray& w,
                                        const MutableArray& shift, const Array& starts,
                                        const Array& norm, const Array& l1, const Array& l2,
                                        StopRule stop) {
  const auto chosen = places(cols, "cols", columns);
  const std::size_t scores = shift.size(), size = chosen.size() * scores;
  const auto groups = runs(starts, chosen.size());
  const GroupPenalties penalties{groups, vector<double>(norm, "norm", groups.size() - 1),
                                 numbers<const double>(l1, "l1", size),
                                 numbers<const double>(l2, "l2", size), scores};
  const ScoreCurvature curvature{
      numbers<const double>(h, "h", samples * scores),
      numbers<const double>(scale, "scale", scale.size() == 0 ? 0 : samples)};
  const auto inverted =
      numbers<const double>(inverse, "inverse", inverse.size() == 0 ? 0 : scores * scores);
  const auto slopes = numbers<double>(q, "q", samples * scores);
  const auto values = numbers<double>(w, "w", size);
  const auto shifts = numbers<double>(shift, "shift", scores);
  const SweepReport report = without_gil([&] {
    return descend_groups(matrix, chosen, curvature, inverted, slopes, values, shifts, penalties,
                          stop);
  });
  return {report.epochs, report.decrease};
}

std::pair<std::int64_t, double> groups_columns(const CheckedMatrix& checked, const Array& cols,
                                               const Array& h, const Array& scale,
                                               const Array& inverse, const MutableArray& q,
                                               const MutableArray& w, const MutableArray& shift,
                                               const Array& starts, const Array& norm,
                                               const Array& l1, const Array& l2,
                                               std::int64_t max_epochs, double tol) {
  return checked.visit([&](const auto& matrix) {
    return descend(matrix, matrix.minors, matrix.majors(), cols, h, scale, inverse, q, w, shift,
                   starts, norm, l1, l2, {max_epochs, tol});
  });
}

std::pair<std::int64_t, double> groups_columns_dense(
    const Array& X, const Array& cols, const Array& h, const Array& scale, const Array& inverse,
    const MutableArray& q, const MutableArray& w, const MutableArray& shift, const Array& starts,
    const Array& norm, const Array& l1, const Array& l2, std::int64_t max_epochs, double tol) {
  return with_dense(X, [&](const auto& given) {
    const auto matrix = by_columns(given);
    return descend(matrix, matrix.rows(), matrix.columns(), cols, h, scale, inverse, q, w, shift,
                   starts, norm, l1, l2, {max_epochs, tol});
  });
}

}  // namespace

void bind_groups(nb::module_& m) {
  using nb::arg;
  m.def("groups_on_gram", &on_gram, arg("G"), arg("q"), arg("origin"), arg("square"), arg("alphas"),
        arg("starts"), arg("norm"), arg("l1"), arg("l2"), arg("coefs").noconvert(), arg("scores"),
        arg("first"), arg("started"), arg("target"), arg("rounds"),
        "Minimise sum_c d_c'Gd_c/2 + q'd + square/2 + sum norm|w_g| + sum l1|w| + sum l2 w^2/2 "
        "for d = w - origin, or d = w if origin is empty, "
        "for a row of norm, l1, l2 and coefs per alpha, in place, each to a gap. Rows solved.");
  nb::class_<GroupColumns>(m, "GroupColumns",
                           "The same for G = AHA' with weights h of the rows, or the covariances "
                           "under them, where A has a line for every row of q.")
      .def(nb::init<const Array&, const Array&, std::int64_t>(), arg("A"), arg("starts"),
           arg("scores"))
      .def("grow", &GroupColumns::grow, arg("A"), arg("starts"),
           "More lines and groups after the others, which must be the same.")
      .def("round", &GroupColumns::round, arg("rounded"),
           "Whether lines are rounded to single precision, for a single score.")
      .def("solve", &GroupColumns::solve_path, arg("h"), arg("centred"), arg("q"), arg("origin"),
           arg("square"), arg("alphas"), arg("norm"), arg("l1"), arg("l2"),
           arg("coefs").noconvert(), arg("image").noconvert(), arg("first"), arg("started"),
           arg("target"), arg("rounds"),
           "The rows solved. Without h, weights are one. The image A'(w - origin) of the last row "
           "is written, unless its array is empty.");
  m.def("groups_columns", &groups_columns, arg("matrix"), arg("cols"), arg("h"), arg("scale"),
        arg("inverse"), arg("q").noconvert(), arg("w").noconvert(), arg("shift").noconvert(),
        arg("starts"), arg("norm"), arg("l1"), arg("l2"), arg("max_epochs"), arg("tol"),
        "Descent over groups of columns of a CSC for several scores; q, w and shift in place: "
        "(epochs, decrease).");
  m.def("groups_columns_dense", &groups_columns_dense, arg("X"), arg("cols"), arg("h"),
        arg("scale"), arg("inverse"), arg("q").noconvert(), arg("w").noconvert(),
        arg("shift").noconvert(), arg("starts"), arg("norm"), arg("l1"), arg("l2"),
        arg("max_epochs"), arg("tol"), "The same over columns of a dense matrix.");
}

}  // namespace minimand::python
