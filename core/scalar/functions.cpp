#include "scalar/functions.hpp"

#include "common/parallel.hpp"
#include "scalar/entropy.hpp"
#include "scalar/logistic.hpp"

namespace minimand {

// External linkage: the loader resolves these names to the clone for this processor.
void exponential_range(std::span<const double> x, std::span<double> result);
void excess_range(std::span<const double> x, std::span<double> result);
void log_one_plus_range(std::span<const double> x, std::span<double> result);
void logistic_terms_range(std::span<const double> z, std::span<const double> y,
                          std::span<double> value, std::span<double> gradient,
                          std::span<double> curvature);
void logistic_derivatives_range(std::span<const double> z, std::span<const double> y,
                                std::span<double> gradient, std::span<double> curvature);

MINIMAND_CLONES void exponential_range(std::span<const double> x, std::span<double> result) {
  const double* from = x.data();
  double* to = result.data();
  const std::size_t n = x.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_lanes(to + i, exponential(load_lanes(from + i)));
  store_some(to + i, exponential(load_some(from + i, n - i)), n - i);
}

MINIMAND_CLONES void excess_range(std::span<const double> x, std::span<double> result) {
  const double* from = x.data();
  double* to = result.data();
  const std::size_t n = x.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_lanes(to + i, Excess(load_lanes(from + i)).value);
  store_some(to + i, Excess(load_some(from + i, n - i)).value, n - i);
}

MINIMAND_CLONES void log_one_plus_range(std::span<const double> x, std::span<double> result) {
  const double* from = x.data();
  double* to = result.data();
  const std::size_t n = x.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_lanes(to + i, log_one_plus(load_lanes(from + i)));
  store_some(to + i, log_one_plus(load_some(from + i, n - i)), n - i);
}

/// Value, gradient and curvature of the logistic loss; the values are left out if there is no room
/// for them.
template <bool Valued>
MINIMAND_INLINE void logistic_points(std::span<const double> z, std::span<const double> y,
                                     std::span<double> value, std::span<double> gradient,
                                     std::span<double> curvature) {
  const double* score = z.data();
  const double* label = y.data();
  double* to_value = value.data();
  double* to_gradient = gradient.data();
  double* to_curvature = curvature.data();
  const std::size_t n = z.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const LogisticPoint point(load_lanes(score + i), load_lanes(label + i));
    if constexpr (Valued) store_lanes(to_value + i, point.value());
    store_lanes(to_gradient + i, point.gradient());
    store_lanes(to_curvature + i, point.curvature());
  }
  const LogisticPoint point(load_some(score + i, n - i), load_some(label + i, n - i));
  if constexpr (Valued) store_some(to_value + i, point.value(), n - i);
  store_some(to_gradient + i, point.gradient(), n - i);
  store_some(to_curvature + i, point.curvature(), n - i);
}

MINIMAND_CLONES void logistic_terms_range(std::span<const double> z, std::span<const double> y,
                                          std::span<double> value, std::span<double> gradient,
                                          std::span<double> curvature) {
  logistic_points<true>(z, y, value, gradient, curvature);
}

MINIMAND_CLONES void logistic_derivatives_range(std::span<const double> z,
                                                std::span<const double> y,
                                                std::span<double> gradient,
                                                std::span<double> curvature) {
  logistic_points<false>(z, y, {}, gradient, curvature);
}

void exponentials_terms_range(const Exponentials& psi, std::span<const double> t,
                              std::span<double> value, std::span<double> slope,
                              std::span<double> bend);

MINIMAND_CLONES void exponentials_terms_range(const Exponentials& psi, std::span<const double> t,
                                              std::span<double> value, std::span<double> slope,
                                              std::span<double> bend) {
  const std::size_t n = t.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto found =
        psi.terms(load_lanes(&t[i]), load_lanes(&psi.size[i]), load_lanes(&psi.single[i]));
    store_lanes(&value[i], found.value);
    store_lanes(&slope[i], found.slope);
    store_lanes(&bend[i], found.bend);
  }
  const std::size_t rest = n - i;
  const auto found = psi.terms(load_some(t.data() + i, rest), load_some(psi.size.data() + i, rest),
                               load_some(psi.single.data() + i, rest));
  store_some(value.data() + i, found.value, rest);
  store_some(slope.data() + i, found.slope, rest);
  store_some(bend.data() + i, found.bend, rest);
}

void relative_entropy_range(std::span<const double> q, std::span<const double> z,
                            std::span<double> result);
double inner_product_of(std::span<const double> a, std::span<const double> b);
void add_range(double* to, double factor, const double* more, std::size_t n);

MINIMAND_CLONES void relative_entropy_range(std::span<const double> q, std::span<const double> z,
                                            std::span<double> result) {
  const double* law = q.data();
  const double* score = z.data();
  double* to = result.data();
  const std::size_t n = q.size();
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store_lanes(to + i, binary_relative_entropy(load_lanes(law + i), load_lanes(score + i)));
  }
  const Lanes last =
      binary_relative_entropy(load_some(law + i, n - i), load_some(score + i, n - i));
  store_some(to + i, last, n - i);
}

MINIMAND_CLONES double inner_product_of(std::span<const double> a, std::span<const double> b) {
  return dot(a.data(), b.data(), a.size());
}

MINIMAND_CLONES void add_range(double* to, double factor, const double* more, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] += factor * more[i];
}

namespace {

/// Element operations (as in kWorkWorthAThread) that an exponential costs, about; safeguard.
constexpr std::size_t kOperationsPerElement = 8;

template <class Value>
std::span<Value> part_of(std::span<Value> values, Range range) {
  return values.subspan(range.begin, range.size());
}

}  // namespace

void exponentials(std::span<const double> x, std::span<double> result) {
  parallel_ranges(x.size(), kOperationsPerElement * x.size(), [&](Range range, std::size_t) {
    exponential_range(part_of(x, range), part_of(result, range));
  });
}

void excesses(std::span<const double> x, std::span<double> result) {
  parallel_ranges(x.size(), kOperationsPerElement * x.size(), [&](Range range, std::size_t) {
    excess_range(part_of(x, range), part_of(result, range));
  });
}

void logs_one_plus(std::span<const double> x, std::span<double> result) {
  parallel_ranges(x.size(), kOperationsPerElement * x.size(), [&](Range range, std::size_t) {
    log_one_plus_range(part_of(x, range), part_of(result, range));
  });
}

void logistic_terms(std::span<const double> z, std::span<const double> y, std::span<double> value,
                    std::span<double> gradient, std::span<double> curvature) {
  parallel_ranges(z.size(), kOperationsPerElement * z.size(), [&](Range range, std::size_t) {
    logistic_terms_range(part_of(z, range), part_of(y, range), part_of(value, range),
                         part_of(gradient, range), part_of(curvature, range));
  });
}

void logistic_derivatives(std::span<const double> z, std::span<const double> y,
                          std::span<double> gradient, std::span<double> curvature) {
  parallel_ranges(z.size(), kOperationsPerElement * z.size(), [&](Range range, std::size_t) {
    logistic_derivatives_range(part_of(z, range), part_of(y, range), part_of(gradient, range),
                               part_of(curvature, range));
  });
}

void exponentials_terms(const Exponentials& psi, std::span<const double> t, std::span<double> value,
                        std::span<double> slope, std::span<double> bend) {
  parallel_ranges(t.size(), 2 * kOperationsPerElement * t.size(), [&](Range range, std::size_t) {
    const Exponentials part{psi.a, part_of(psi.size, range), part_of(psi.single, range)};
    exponentials_terms_range(part, part_of(t, range), part_of(value, range), part_of(slope, range),
                             part_of(bend, range));
  });
}

void binary_relative_entropies(std::span<const double> q, std::span<const double> z,
                               std::span<double> result) {
  parallel_ranges(q.size(), 2 * kOperationsPerElement * q.size(), [&](Range range, std::size_t) {
    relative_entropy_range(part_of(q, range), part_of(z, range), part_of(result, range));
  });
}

double inner_product(std::span<const double> a, std::span<const double> b) {
  return inner_product_of(a, b);
}

void add_scaled(std::span<double> to, double factor, std::span<const double> more) {
  add_range(to.data(), factor, more.data(), to.size());
}

}  // namespace minimand
