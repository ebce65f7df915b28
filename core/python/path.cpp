#include "path/gap.hpp"
#include "path/group_gap.hpp"
#include "path/on_curves.hpp"
#include "path/on_gram.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/penalties.hpp"

namespace minimand::python {
namespace {

/// The numbers of a matrix with a row of `columns` numbers for each of so many alphas.
template <class Element, class AnyArray>
std::span<Element> grid(const AnyArray& array, const char* name, std::size_t rows,
                        std::size_t columns) {
  check_elements<double>(array, name);
  if (array.ndim() != 2) value_problem(std::string(name) + " must be two-dimensional");
  check_size(array.shape(0), rows, name);
  check_size(array.size(), rows * columns, name);
  return {static_cast<Element*>(array.data()), array.size()};
}

std::size_t solve(PathOnGram& path, const Array& G, const Array& q, double square,
                  const Array& alphas, const Array& l1, const Array& l2, const MutableArray& coefs,
                  std::int64_t first, bool started, double target, std::int64_t rounds) {
  const auto linear = vector<double>(q, "q");
  const std::size_t size = linear.size();
  check_elements<double>(G, "G");
  if (G.ndim() != 2 || G.shape(0) != G.shape(1) || G.shape(0) < size) {
    value_problem("G must be a square matrix with a row for every number of q at least");
  }
  const std::span<const double> values(static_cast<const double*>(G.data()), G.size());
  const SquaredMean loss{{values, G.shape(0), size}, linear, square};
  const auto places = vector<double>(alphas, "alphas");
  const std::size_t rows = places.size();
  const PathGrid problems{places, grid<const double>(l1, "l1", rows, size),
                          grid<const double>(l2, "l2", rows, size),
                          grid<double>(coefs, "coefs", rows, size)};
  const std::size_t begin = count(first, "first");
  const PathGoal goal{target, count(rounds, "rounds")};
  return without_gil([&] { return path.solve(loss, problems, begin, started, goal); });
}

/// (mass, y, offset or None, whether a constant is free).
using Rows = std::tuple<Array, Array, std::optional<Array>, bool>;
/// (G of the first columns, curvatures, means of the columns, sum of the curvatures).
using Older = std::tuple<Array, Array, Array, double>;
/// (alphas, l1, l2, coefs), a row of the last three per alpha.
using Problems = std::tuple<Array, Array, Array, MutableArray>;
/// (gap, gap of a model, scale, steps, rounds of a model).
using Goal = std::tuple<double, double, double, std::int64_t, std::int64_t>;

std::size_t solve_curves(PathOnCurves& path, const Array& X, const Rows& rows, const Older& older,
                         const Problems& problems, std::int64_t first, bool started,
                         const Goal& goal) {
  return with_dense(X, [&](const auto& given) {
    const auto matrix = by_columns(given);
    const std::size_t n = matrix.rows(), m = matrix.columns();
    const auto& [mass, y, offset, free_constant] = rows;
    const LogisticRows loss{
        vector<double>(mass, "mass", n), vector<double>(y, "y", n),
        offset ? vector<double>(*offset, "offset", n) : std::span<const double>{}, free_constant};
    const auto& [G, h, mean, total] = older;
    check_elements<double>(G, "G");
    if (G.ndim() != 2 || G.shape(0) > m || G.shape(1) != G.shape(0)) {
      value_problem("G must be a square matrix with a row for some of the first columns of X");
    }
    const std::span<const double> values(static_cast<const double*>(G.data()), G.size());
    const OlderCurvature curvature{values, G.shape(0), vector<double>(h, "h", n),
                                   vector<double>(mean, "mean", m), total};
    const auto& [alphas, l1, l2, coefs] = problems;
    const auto places = vector<double>(alphas, "alphas");
    const std::size_t count_of = places.size();
    const PathGrid problem_rows{places, grid<const double>(l1, "l1", count_of, m),
                                grid<const double>(l2, "l2", count_of, m),
                                grid<double>(coefs, "coefs", count_of, m)};
    const auto& [gap, model_gap, scale, steps, rounds] = goal;
    const CurveGoal wanted{gap, model_gap, scale, count(steps, "steps"), count(rounds, "rounds")};
    const std::size_t begin = count(first, "first");
    return without_gil(
        [&] { return path.solve(matrix, loss, curvature, problem_rows, begin, started, wanted); });
  });
}

Result drawn_on(const Array& before, const Array& last, double ahead) {
  const auto end = vector<double>(last, "last");
  const auto begin = vector<double>(before, "before", end.size());
  Fresh next({end.size()});
  draw_on(begin, end, ahead, next.values());
  return next.hand_over();
}

std::tuple<double, double, double> gap_of_squares(double square, const Array& slope, const Array& w,
                                                  const Array& l1, const Array& l2) {
  const auto slopes = vector<double>(slope, "slope");
  const std::size_t size = slopes.size();
  const Penalties penalties{vector<double>(l1, "l1", size), vector<double>(l2, "l2", size)};
  const auto [found, penalty] =
      minimand::gap_of_squares(square, slopes, vector<double>(w, "w", size), penalties);
  return {found.gap, found.scale, penalty};
}

/// The same for many models, a row of slopes, w, l1 and l2 each: gaps, scales and penalties.
void gaps_of_squares(const Array& squares, const Array& slopes, const Array& w, const Array& l1,
                     const Array& l2, const MutableArray& found) {
  const auto square = vector<double>(squares, "squares");
  const std::size_t rows = square.size(), size = rows == 0 ? 0 : slopes.size() / rows;
  const auto slope = grid<const double>(slopes, "slopes", rows, size);
  const auto value = grid<const double>(w, "w", rows, size);
  const auto kink = grid<const double>(l1, "l1", rows, size);
  const auto bend = grid<const double>(l2, "l2", rows, size);
  const auto out = grid<double>(found, "found", 3, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = [&](std::span<const double> all) { return all.subspan(i * size, size); };
    const auto [gap, charge] =
        minimand::gap_of_squares(square[i], row(slope), row(value), {row(kink), row(bend)});
    out[i] = gap.gap;
    out[rows + i] = gap.scale;
    out[2 * rows + i] = charge;
  }
}

/// The same for norms of groups, which are runs of the numbers of a model.
void gaps_of_groups(const Array& squares, const Array& slopes, const Array& w, const Array& starts,
                    const Array& norm, const Array& l2, const MutableArray& found) {
  const auto square = vector<double>(squares, "squares");
  const std::size_t rows = square.size(), size = rows == 0 ? 0 : slopes.size() / rows;
  const auto slope = grid<const double>(slopes, "slopes", rows, size);
  const auto value = grid<const double>(w, "w", rows, size);
  const auto firsts = vector<std::int64_t>(starts, "starts");
  bool rising =
      !firsts.empty() && firsts.front() == 0 && firsts.back() == static_cast<std::int64_t>(size);
  for (std::size_t g = 1; rising && g < firsts.size(); ++g) rising = firsts[g - 1] <= firsts[g];
  if (rows > 0 && !rising) value_problem("starts must rise from 0 to the length of a model");
  const std::size_t groups = firsts.empty() ? 0 : firsts.size() - 1;
  const auto kink = grid<const double>(norm, "norm", rows, groups);
  const auto bend = grid<const double>(l2, "l2", rows, groups);
  const auto out = grid<double>(found, "found", 3, rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto [gap, charge] =
        gap_of_groups(square[i], slope.subspan(i * size, size), value.subspan(i * size, size),
                      {firsts, kink.subspan(i * groups, groups), bend.subspan(i * groups, groups)});
    out[i] = gap.gap;
    out[rows + i] = gap.scale;
    out[2 * rows + i] = charge;
  }
}

}  // namespace

void bind_path(nb::module_& m) {
  using nb::arg;
  nb::class_<PathOnGram>(m, "PathOnGram",
                         "Problems of a path on one Gram, which may grow; keeps a Cholesky factor.")
      .def(nb::init<>())
      .def("solve", &solve, arg("G"), arg("q"), arg("square"), arg("alphas"), arg("l1"), arg("l2"),
           arg("coefs").noconvert(), arg("first"), arg("started"), arg("target"), arg("rounds"),
           "Minimise w'Gw/2 + q'w + square/2 + sum l1|w| + sum l2 w^2/2 for a row of l1, l2 and "
           "coefs per alpha, in place, each to a gap; G may be larger than q. Rows solved.")
      .def("forget", &PathOnGram::forget, "To be called when another Gram comes next.");
  nb::class_<PathOnCurves>(m, "PathOnCurves",
                           "Problems of a path of the logistic loss on few dense columns.")
      .def(nb::init<>())
      .def(
          "solve", &solve_curves, arg("X"), arg("rows"), arg("older"), arg("problems"),
          arg("first"), arg("started"), arg("goal"),
          "Minimise the mean of log(1 + exp(-y z)) + sum l1|w| + sum l2 w^2/2 for a row of "
          "coefs per alpha, in place, by models with the Gram of older curvatures h, of which G is "
          "that of the first columns. Rows settled.")
      .def("forget", &PathOnCurves::forget, "To be called when other curvatures come next.");
  m.def("steps_ahead", &steps_ahead, arg("before"), arg("last"), arg("alpha"),
        "How often the step between two alphas leads on to a third; 0 if that is no line to draw.");
  m.def("drawn_on", &drawn_on, arg("before"), arg("last"), arg("ahead"),
        "The line through two models, so many steps ahead, zero where it would change sign.");
  m.def("gap_of_squares", &gap_of_squares, arg("square"), arg("slope"), arg("w"), arg("l1"),
        arg("l2"),
        "(gap, scale of the residuals as dual point, penalty) of a model of the squared loss.");
  m.def("gaps_of_squares", &gaps_of_squares, arg("squares"), arg("slopes"), arg("w"), arg("l1"),
        arg("l2"), arg("found").noconvert(),
        "The same for many models, a row of slopes, w, l1 and l2 each, as the columns of found.");
  m.def("gaps_of_groups", &gaps_of_groups, arg("squares"), arg("slopes"), arg("w"), arg("starts"),
        arg("norm"), arg("l2"), arg("found").noconvert(),
        "The same for norms of groups, which are runs of the numbers of a model, with their "
        "squares.");
}

}  // namespace minimand::python
