#include <numeric>

#include "interior/corner.hpp"
#include "interior/joint_steps.hpp"
#include "interior/kept_hessian.hpp"
#include "interior/quasi_newton.hpp"
#include "interior/score_steps.hpp"
#include "interior/smooth_steps.hpp"
#include "interior/walk.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "python/dual_psi.hpp"

namespace minimand::python {
namespace {

/// base, side, knot, bend, height, where, weight, share, dual, primal.
using RiserArrays =
    std::tuple<Array, Array, Array, Array, Array, Array, Array, double, MutableArray, MutableArray>;
/// l2, spread, centre, pull, pinned.
using ColumnArrays = std::tuple<Array, Array, Array, Array, Array>;
/// near, far, most, patience, centred.
using Limits = std::tuple<double, double, std::int64_t, std::int64_t, double>;
/// least, waited, unmet_dual, unmet_primal.
using Course = std::tuple<double, std::int64_t, double, double>;

RiserForm riser_form(const RiserArrays& arrays, std::size_t functions) {
  const auto& [base, side, knot, bend, height, where, weight, share, dual, primal] = arrays;
  const std::size_t risers = side.size();
  const auto bases = vector<double>(base, "base");
  if (bases.size() != 1) check_size(bases.size(), functions, "base");
  const auto owners = places(where, "where", functions);
  if (!owners.empty()) check_size(owners.size(), risers, "where");
  const auto weights = vector<double>(weight, "weight");
  if (!weights.empty()) check_size(weights.size(), functions, "weight");
  const auto heights = vector<double>(height, "height");
  if (heights.size() > risers) value_problem("height must have at most one number per riser");
  return {bases,
          vector<double>(side, "side", risers),
          vector<double>(knot, "knot", risers),
          vector<double>(bend, "bend", risers),
          heights,
          owners,
          weights,
          share,
          functions};
}

/// The pairs of risers, whose shape is theirs.
std::span<double> pairs(const MutableArray& array, const RiserForm& form, const char* name) {
  check_elements<double>(array, name);
  check_size(array.size(), form.side.empty() ? 0 : form.pairs(), name);
  return {static_cast<double*>(array.data()), array.size()};
}

std::span<const std::uint8_t> marks(const Array& array, std::size_t size) {
  if (array.dtype() != nb::dtype<std::uint8_t>() || array.ndim() != 1 || !is_c_contiguous(array)) {
    value_problem("pinned must be a contiguous vector of uint8");
  }
  check_size(array.size(), size, "pinned");
  return {static_cast<const std::uint8_t*>(array.data()), size};
}

/// X, mass, sign, columns, pull_b, intercept, all_lines, samples, features.
using InteriorArrays =
    std::tuple<Array, Array, Array, ColumnArrays, double, bool, bool, RiserArrays, RiserArrays>;

/// Calls f(matrix, problem, point) on checked arguments.
template <class Function>
auto with_interior(const InteriorArrays& arrays, const MutableArray& w, const MutableArray& t,
                   double b, const Function& f) {
  return with_dense(std::get<0>(arrays), [&](const auto& matrix) {
    const std::size_t n = matrix.rows(), d = matrix.columns();
    const auto& [X, mass, sign, columns, pull_b, intercept, all_lines, samples, features] = arrays;
    const auto& [l2, spread, centre, pull, pinned] = columns;
    const InteriorProblem problem{vector<double>(mass, "mass", n),
                                  vector<double>(sign, "sign", n),
                                  vector<double>(l2, "l2", d),
                                  vector<double>(spread, "spread", d),
                                  vector<double>(centre, "centre", d),
                                  vector<double>(pull, "pull", d),
                                  marks(pinned, d),
                                  pull_b,
                                  intercept,
                                  all_lines,
                                  riser_form(samples, n),
                                  riser_form(features, d)};
    InteriorPoint point{mutable_vector(w, "w", d),
                        mutable_vector(t, "t", n),
                        b,
                        pairs(std::get<8>(samples), problem.samples, "dual"),
                        pairs(std::get<9>(samples), problem.samples, "primal"),
                        pairs(std::get<8>(features), problem.features, "dual"),
                        pairs(std::get<9>(features), problem.features, "primal")};
    return f(matrix, problem, point);
  });
}

std::tuple<double, std::int64_t, double, double, bool, bool, Course> interior_walk(
    const InteriorArrays& problem, const MutableArray& w, const MutableArray& t, double b,
    const Limits& limits, const Course& course) {
  const auto& [near, far, most, patience, centred] = limits;
  const WalkGoal goal{near, far, count(most, "most"), count(patience, "patience"), centred};
  const auto& [least, waited, unmet_dual, unmet_primal] = course;
  WalkCourse now{least, count(waited, "waited"), unmet_dual, unmet_primal};
  return with_interior(problem, w, t, b, [&](const auto& matrix, const auto& posed, auto& point) {
    const WalkReport report =
        without_gil([&] { return walk_inside(matrix, posed, point, goal, now); });
    return std::tuple(
        point.b, static_cast<std::int64_t>(report.steps), report.length, report.products,
        report.stuck, report.singular,
        Course(now.least, static_cast<std::int64_t>(now.waited), now.unmet_dual, now.unmet_primal));
  });
}

std::pair<double, bool> interior_corner(const InteriorArrays& problem, const MutableArray& w,
                                        const MutableArray& t, double b,
                                        const std::tuple<double, double, double, double>& scale,
                                        const MutableArray& theta) {
  const auto& [width, size, lowest, highest] = scale;
  const CornerScale known{width, size, lowest, highest};
  return with_interior(problem, w, t, b, [&](const auto& matrix, const auto& posed, auto& point) {
    if (!posed.samples.where.empty() || !posed.features.side.empty()) {
      value_problem("risers must be those of all samples, and of no feature");
    }
    const auto multipliers = mutable_vector(theta, "theta", matrix.rows());
    const bool found =
        without_gil([&] { return find_corner(matrix, posed, point, known, multipliers); });
    return std::pair(point.b, found);
  });
}

/// mass, sign, shift; or y, target, mass.
using SmoothRows = std::tuple<Array, Array, Array>;

/// An array of this size, or an empty one.
std::span<double> room(const MutableArray& array, const char* name, std::size_t size) {
  return mutable_vector(array, name, array.size() == 0 ? 0 : size);
}

/// a, size, single.
using ExponentialArrays = std::tuple<double, Array, Array>;
using SmoothPsiArgument = std::variant<ExponentialArrays, PieceArrays, std::string>;

SmoothPsi smooth_psi(const SmoothPsiArgument& psi, std::size_t n) {
  if (const auto* const rows = std::get_if<ExponentialArrays>(&psi)) {
    const auto& [a, size, single] = *rows;
    if (!(a >= 0.0 && a <= 1.0)) value_problem("a must be between 0 and 1");
    return Exponentials{a, vector<double>(size, "size", n), vector<double>(single, "single", n)};
  }
  if (const auto* const parts = std::get_if<PieceArrays>(&psi)) return pieces(*parts);
  return known_psi(std::get<std::string>(psi));
}

/// b, steps, done.
using SmoothResult = std::tuple<double, std::int64_t, bool>;

/// near, most, primal, models.
using SmoothLimits = std::tuple<double, std::int64_t, MutableArray, MutableArray>;

/// Calls steps(matrix, psi, problem, w, b, goal, course) on checked arguments.
template <class Steps>
SmoothResult with_smooth(const Array& X, const SmoothPsiArgument& psi, const SmoothRows& rows,
                         const Array& l2, const Array& centre, bool intercept,
                         const MutableArray& w, double b, const SmoothLimits& limits,
                         const Steps& steps, std::span<const double> l1 = {}) {
  return with_dense(X, [&](const auto& matrix) {
    const std::size_t n = matrix.rows(), d = matrix.columns();
    const auto& [mass, sign, shift] = rows;
    const SmoothProblem problem{vector<double>(mass, "mass", n),
                                vector<double>(sign, "sign", n),
                                vector<double>(shift, "shift", n),
                                vector<double>(l2, "l2", d),
                                vector<double>(centre, "centre", d),
                                intercept,
                                l1};
    const auto known = smooth_psi(psi, n);
    const auto moved = mutable_vector(w, "w", d);
    const auto& [near, most, primal, models] = limits;
    const SmoothGoal goal{near, count(most, "most")};
    const SmoothCourse course{room(primal, "primal", goal.most + 1),
                              room(models, "models", goal.most * (d + 1))};
    const SmoothReport report =
        without_gil([&] { return steps(matrix, known, problem, moved, b, goal, course); });
    return std::tuple(b, static_cast<std::int64_t>(report.steps), report.done);
  });
}

SmoothResult smooth_steps(const Array& X, const SmoothPsiArgument& psi, const SmoothRows& rows,
                          const Array& l2, const Array& l1, const Array& centre, bool intercept,
                          const MutableArray& w, double b, double near, std::int64_t most,
                          const MutableArray& primal, const MutableArray& models) {
  const auto kinks = vector<double>(l1, "l1", l1.size() == 0 ? 0 : l2.size());
  return with_smooth(
      X, psi, rows, l2, centre, intercept, w, b, {near, most, primal, models},
      [](const auto& matrix, const auto& known, const auto& problem, auto moved, double& shift,
         const auto& goal, const auto& course) {
        return minimand::smooth_steps(matrix, known, problem, moved, shift, goal, course);
      },
      kinks);
}

SmoothResult quasi_newton(const Array& X, const SmoothPsiArgument& psi, const SmoothRows& rows,
                          const Array& l2, const Array& centre, bool intercept,
                          const Array& inverse, double total, const MutableArray& w, double b,
                          double near, std::int64_t most, const MutableArray& primal,
                          const MutableArray& models) {
  check_elements<double>(inverse, "inverse");
  if (inverse.ndim() != 2) value_problem("inverse must be two-dimensional");
  const FirstMetric metric{dense<double>(inverse), total};
  check_size(metric.inverse.rows(), l2.size(), "inverse");
  check_size(metric.inverse.columns(), l2.size(), "inverse");
  if (!(total > 0.0)) value_problem("total must be positive");
  return with_smooth(X, psi, rows, l2, centre, intercept, w, b, {near, most, primal, models},
                     [&](const auto& matrix, const auto& known, const auto& problem, auto moved,
                         double& shift, const auto& goal, const auto& course) {
                       return minimand::quasi_newton(matrix, known, problem, metric, moved, shift,
                                                     goal, course);
                     });
}

/// b, sigma, value, steps; whether they settled, are near, have aimed, and met a singular system.
using JointResult = std::tuple<double, double, double, std::int64_t, bool, bool, bool, bool>;

JointResult joint_steps(const Array& X, const SmoothRows& rows, const Array& c, const Array& centre,
                        double epsilon, bool intercept, const MutableArray& w,
                        const MutableArray& z, const MutableArray& theta, double b, double sigma,
                        double near, std::int64_t most) {
  return with_dense(X, [&](const auto& matrix) {
    const std::size_t n = matrix.rows(), d = matrix.columns();
    const auto& [y, target, mass] = rows;
    const auto row = [n](const Array& array, const char* name) {
      return vector<double>(array, name, n);
    };
    const auto column = vector<double>(c, "c", d), middle = vector<double>(centre, "centre", d);
    const JointProblem problem{
        row(y, "y"), row(target, "target"), row(mass, "mass"), column, middle, epsilon, intercept};
    JointPlace place{mutable_vector(w, "w", d),
                     mutable_vector(z, "z", n),
                     mutable_vector(theta, "theta", n),
                     b,
                     sigma,
                     0.0};
    const std::size_t limit = count(most, "most");
    const JointReport report =
        without_gil([&] { return minimand::joint_steps(matrix, problem, place, near, limit); });
    return JointResult(place.b, place.sigma, place.value, static_cast<std::int64_t>(report.steps),
                       report.settled, report.near, report.aimed, report.singular);
  });
}

/// A `KeptHessian` of whichever type the matrix holds, and the arrays that it looks at.
class HessianOfRows {
 public:
  HessianOfRows(const Array& X, const Array& centre, bool intercept)
      : X_(X), centre_(centre), kept_(with_dense(X, [&](const auto& matrix) -> Kept {
          return KeptHessian(matrix, vector<double>(centre, "centre", matrix.columns()), intercept);
        })) {}

  std::pair<Result, Result> at(const Array& rates) {
    return std::visit(
        [&](auto& kept) {
          const auto given = vector<double>(rates, "rates", kept.rows());
          const double total = std::accumulate(given.begin(), given.end(), 0.0);
          if (!(total > 0.0)) value_problem("rates must have a positive sum");
          Fresh gram({kept.columns(), kept.columns()}), mean({kept.columns()});
          without_gil([&] { kept.at(given, total, gram.values(), mean.values()); });
          return std::pair(gram.hand_over(), mean.hand_over());
        },
        kept_);
  }

 private:
  using Kept = std::variant<KeptHessian<float>, KeptHessian<double>>;
  Array X_, centre_;
  Kept kept_;
};

/// A table that steps change.
std::span<double> filled(const MutableArray& array, const char* name, std::size_t rows,
                         std::size_t width) {
  const bool fits = array.ndim() == 2 && array.shape(0) == rows && array.shape(1) == width;
  if (!fits) value_problem(std::string(name) + " must have a row each and a column per score");
  check_elements<double>(array, name);
  return {static_cast<double*>(array.data()), array.size()};
}

std::tuple<std::int64_t, bool> score_steps(const Array& X, const Array& y, const Array& mass,
                                           const Array& l2, const Array& mean, const Array& size,
                                           const std::tuple<bool, bool, bool, std::int64_t>& how,
                                           const MutableArray& w, const MutableArray& b,
                                           const MutableArray& z, double near, std::int64_t most,
                                           const MutableArray& primal, const MutableArray& models) {
  return with_dense(X, [&](const auto& matrix) {
    const std::size_t n = matrix.rows(), d = matrix.columns(), k = b.size();
    const auto& [intercept, gap, formed, products] = how;
    if (products != 0 && !matrix.by_rows) value_problem("X must have contiguous rows");
    const auto penalty = vectors(l2, "l2");
    check_size(penalty.values.size(), d * k, "l2");
    const auto classes = places(y, "y", k);
    check_size(classes.size(), n, "y");
    const ScoresProblem problem{classes,
                                vector<double>(mass, "mass", n),
                                penalty.values,
                                vector<double>(mean, "mean", d),
                                vector<double>(size, "size", d),
                                k,
                                intercept,
                                formed,
                                count(products, "products"),
                                gap};
    const ScoresPoint point{filled(w, "w", d, k), mutable_vector(b, "b", k), filled(z, "z", n, k)};
    const SmoothGoal goal{near, count(most, "most")};
    const SmoothCourse course{room(primal, "primal", goal.most + 1),
                              room(models, "models", goal.most * (d + 1) * k)};
    const SmoothReport report =
        without_gil([&] { return minimand::score_steps(matrix, problem, point, goal, course); });
    return std::tuple(static_cast<std::int64_t>(report.steps), report.done);
  });
}

}  // namespace

void bind_interior(nb::module_& m) {
  using nb::arg;
  m.def("interior_walk", &interior_walk, arg("problem"), arg("w"), arg("t"), arg("b"),
        arg("limits"), arg("course"),
        "Predictor-corrector steps in place; returns (b, steps, length, products, stuck, singular, "
        "course).");
  m.def("interior_corner", &interior_corner, arg("problem"), arg("w").noconvert(),
        arg("t").noconvert(), arg("b"), arg("scale"), arg("theta").noconvert(),
        "The corner next to an interior point, w and its multipliers theta in place: (b, found). "
        "scale: width and size at which risers began, least and greatest slope.");
  m.def(
      "smooth_steps", &smooth_steps, arg("X"), arg("psi"), arg("rows"), arg("l2"), arg("l1"),
      arg("centre"), arg("intercept"), arg("w"), arg("b"), arg("near"), arg("most"), arg("primal"),
      arg("models"),
      "Newton's steps for a smooth loss, l2 and l1 (which may be empty), w in place; returns (b, "
      "steps, done). Values at "
      "the start and after every step go to primal, and (w, b) to models, unless these are empty.");
  m.def("quasi_newton", &quasi_newton, arg("X"), arg("psi"), arg("rows"), arg("l2"), arg("centre"),
        arg("intercept"), arg("inverse"), arg("total"), arg("w"), arg("b"), arg("near"),
        arg("most"), arg("primal"), arg("models"),
        "L-BFGS steps for a smooth loss and l2 from a first metric, likewise.");
  m.def(
      "joint_steps", &joint_steps, arg("X"), arg("rows"), arg("c"), arg("centre"), arg("epsilon"),
      arg("intercept"), arg("w").noconvert(), arg("z").noconvert(), arg("theta").noconvert(),
      arg("b"), arg("sigma"), arg("near"), arg("most"),
      "Newton's steps for w, b and the scale of the Huber loss, w and z in place; without columns "
      "for b and the scale alone. Returns (b, sigma, value, steps, settled, near, aimed, "
      "singular). rows: y, y without the offset, mass.");
  nb::class_<HessianOfRows>(m, "KeptHessian",
                            "X' diag(rates) X for rates of which few change from call to call.")
      .def(nb::init<const Array&, const Array&, bool>(), arg("X"), arg("centre"), arg("intercept"))
      .def("at", &HessianOfRows::at, arg("rates"),
           "The matrix, with an intercept that of X minus its mean under the rates, and the mean.");
  m.def("score_steps", &score_steps, arg("X"), arg("y"), arg("mass"), arg("l2"), arg("mean"),
        arg("size"), arg("how"), arg("w").noconvert(), arg("b").noconvert(), arg("z").noconvert(),
        arg("near"), arg("most"), arg("primal"), arg("models"),
        "Newton's steps for the softmax and l2, w, b and z in place; returns (steps, done). how: "
        "whether there are intercepts, near bounds a gap, Hessians may be formed; and products of "
        "conjugate gradients before one is.");
}

}  // namespace minimand::python
