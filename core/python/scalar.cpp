#include "python/arrays.hpp"
#include "python/bindings.hpp"
#include "scalar/functions.hpp"
#include "scalar/residuals.hpp"
#include "scalar/separable.hpp"

namespace minimand::python {
namespace {

Result exp(const Array& x) {
  const auto from = vector<double>(x, "x");
  Fresh result({from.size()});
  without_gil([&] { exponentials(from, result.values()); });
  return result.hand_over();
}

Result excess(const Array& x) {
  const auto from = vector<double>(x, "x");
  Fresh result({from.size()});
  without_gil([&] { excesses(from, result.values()); });
  return result.hand_over();
}

Result log1p(const Array& x) {
  const auto from = vector<double>(x, "x");
  Fresh result({from.size()});
  without_gil([&] { logs_one_plus(from, result.values()); });
  return result.hand_over();
}

std::tuple<Result, Result, Result> logistic_terms(const Array& z, const Array& y) {
  const auto scores = vector<double>(z, "z");
  const auto labels = vector<double>(y, "y", scores.size());
  Fresh value({scores.size()}), gradient({scores.size()}), curvature({scores.size()});
  without_gil([&] {
    minimand::logistic_terms(scores, labels, value.values(), gradient.values(), curvature.values());
  });
  return {value.hand_over(), gradient.hand_over(), curvature.hand_over()};
}

std::pair<Result, Result> logistic_derivatives(const Array& z, const Array& y) {
  const auto scores = vector<double>(z, "z");
  const auto labels = vector<double>(y, "y", scores.size());
  Fresh gradient({scores.size()}), curvature({scores.size()});
  without_gil([&] {
    minimand::logistic_derivatives(scores, labels, gradient.values(), curvature.values());
  });
  return {gradient.hand_over(), curvature.hand_over()};
}

Result binary_relative_entropy(const Array& q, const Array& z) {
  const auto laws = vector<double>(q, "q");
  const auto scores = vector<double>(z, "z", laws.size());
  Fresh result({laws.size()});
  without_gil([&] { binary_relative_entropies(laws, scores, result.values()); });
  return result.hand_over();
}

double dot(const Array& a, const Array& b) {
  const auto left = vector<double>(a, "a");
  const auto right = vector<double>(b, "b", left.size());
  return inner_product(left, right);
}

void add(const MutableArray& to, double factor, const Array& more) {
  check_elements<double>(to, "to");
  check_elements<double>(more, "more");
  check_size(more.size(), to.size(), "more");
  add_scaled({static_cast<double*>(to.data()), to.size()}, factor,
             {static_cast<const double*>(more.data()), more.size()});
}

std::pair<Result, Result> residual_rows(const MutableArray& Z, const Array& y, const Array& mass,
                                        bool centre, const MutableArray& shifts) {
  check_elements<double>(Z, "Z");
  if (Z.ndim() != 2) value_problem("Z must be two-dimensional");
  const std::size_t rows = Z.shape(0), samples = Z.shape(1);
  const Targets targets{vector<double>(y, "y", samples), vector<double>(mass, "mass", samples)};
  const auto moved = mutable_vector(shifts, "shifts", rows);
  Fresh residuals({rows, samples}), sums({rows, 4});
  without_gil([&] {
    std::vector<ResidualSums> found(rows);
    minimand::residual_rows({static_cast<double*>(Z.data()), Z.size()}, targets, centre, moved,
                            residuals.values(), found);
    auto to = sums.values().begin();
    for (const ResidualSums& row : found) {
      for (const double value : {row.mean, row.size, row.square, row.score_times}) *to++ = value;
    }
  });
  return {residuals.hand_over(), sums.hand_over()};
}

double residual_shift(const Array& z, const Array& y, const Array& mass) {
  const auto scores = vector<double>(z, "z");
  const std::size_t n = scores.size();
  return minimand::residual_shift(scores,
                                  {vector<double>(y, "y", n), vector<double>(mass, "mass", n)});
}

std::pair<double, double> huber_scale(const Array& r, const Array& mass, double knot) {
  const auto residuals = vector<double>(r, "r");
  const HuberScale found =
      minimand::huber_scale(residuals, vector<double>(mass, "mass", residuals.size()), knot);
  return {found.sigma, found.value};
}

Weights weights(const Array& l1, const Array& l2, std::size_t size) {
  return {vector<double>(l1, "l1", size), vector<double>(l2, "l2", size)};
}

double separable_value(const Array& l1, const Array& l2, const Array& w) {
  const auto at = vector<double>(w, "w");
  return minimand::separable_value(weights(l1, l2, at.size()), at);
}

Result separable_young(const Array& l1, const Array& l2, const Array& w, const Array& v) {
  const auto at = vector<double>(w, "w");
  const auto slope = vector<double>(v, "v", at.size());
  const Weights both = weights(l1, l2, at.size());
  Fresh result({at.size()});
  without_gil([&] { minimand::separable_young(both, at, slope, result.values()); });
  return result.hand_over();
}

double largest_scale(const Array& v, const Array& limit) {
  const auto values = vector<double>(v, "v");
  return minimand::largest_scale(values, vector<double>(limit, "limit", values.size()));
}

}  // namespace

void bind_scalar(nb::module_& m) {
  using nb::arg;
  m.def("exp", &exp, arg("x"), "Elementwise exponential.");
  m.def("excess", &excess, arg("x"), "Elementwise exp(x) - 1 - x, to full relative accuracy.");
  m.def("log1p", &log1p, arg("x"), "Elementwise log(1 + x).");
  m.def("logistic_terms", &logistic_terms, arg("z"), arg("y"),
        "(value, gradient, curvature) of log(1 + exp(-y z)), y = +-1.");
  m.def("logistic_derivatives", &logistic_derivatives, arg("z"), arg("y"),
        "(gradient, curvature) of log(1 + exp(-y z)), y = +-1.");
  m.def("binary_relative_entropy", &binary_relative_entropy, arg("q"), arg("z"),
        "q log(q/p) + (1-q) log((1-q)/(1-p)), p = 1/(1 + exp(-z)); inf unless 0 <= q <= 1.");
  m.def("residual_rows", &residual_rows, arg("Z").noconvert(), arg("y"), arg("mass"), arg("centre"),
        arg("shifts").noconvert(),
        "(r, sums) of r = z - y for the rows z of Z, in place moved by their shift; sums: mass "
        "times r, |r|, r^2, |r z|. With centre, shifts become those that make the first sum zero.");
  m.def("residual_shift", &residual_shift, arg("z"), arg("y"), arg("mass"),
        "The b for which the mean of mass (z + b - y) is zero; 0 if it is only rounding.");
  m.def("huber_scale", &huber_scale, arg("r"), arg("mass"), arg("knot"),
        "(s, least) of s + sum mass s H(r/s), H(t) = t^2 up to the knot and linear beyond.");
  m.def("separable_value", &separable_value, arg("l1"), arg("l2"), arg("w"),
        "sum_j l1_j |w_j| + l2_j w_j^2 / 2.");
  m.def("separable_young", &separable_young, arg("l1"), arg("l2"), arg("w"), arg("v"),
        "Terms of that sum at w, plus those of its conjugate at v, minus v w; never negative.");
  m.def("largest_scale", &largest_scale, arg("v"), arg("limit"),
        "The largest s <= 1 with s |v_j| <= limit_j, rounded downwards.");
  m.def("dot", &dot, arg("a"), arg("b"), "sum_i a_i b_i, on one thread.");
  m.def("add", &add, arg("to"), arg("factor"), arg("more"), "to += factor more, on one thread.");
}

}  // namespace minimand::python
