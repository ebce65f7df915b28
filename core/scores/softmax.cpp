#include "scores/softmax.hpp"

#include <vector>

#include "common/parallel.hpp"
#include "scalar/exponential.hpp"
#include "scalar/logarithm.hpp"
#include "scores/padded.hpp"
#include "scores/simplex.hpp"

namespace minimand {

// External linkage: the loader resolves these names to the clone for this processor.
void softmax_range(const double* z, std::size_t k, const std::int64_t* y, Range rows, double* row,
                   double* value, double* gradient, double* probabilities);
void relative_entropy_rows(const double* z, std::size_t k, const double* u, const std::int64_t* y,
                           Range rows, double* row, double* result);
void simplex_range(const double* p, std::size_t k, const double* scale, const double* t, Range rows,
                   double* result);
void sums_range(const double* z, std::size_t k, const double* shift, const std::int64_t* y,
                const double* mass, Range rows, double* row, double* sums);

namespace {

constexpr std::size_t kOperations = 16;  // per score of a row, about; safeguard

/// A row of e^{z_c - max z}, and what belongs to it.
struct Relative {
  double top;         // the largest score
  double rest;        // the sum without the largest
  std::size_t place;  // of the largest
};

MINIMAND_INLINE Relative relative(const double* z, std::size_t k, double* e) {
  std::size_t place = 0;
  for (std::size_t c = 1; c < k; ++c) place = z[c] > z[place] ? c : place;
  const double top = z[place];
  std::size_t c = 0;
  for (; c + kLanes <= k; c += kLanes) {
    store_lanes(e + c, exponential(load_lanes(z + c) - same_lanes(top)));
  }
  if (c < k) {
    const Lanes last = exponential(load_some(z + c, k - c) - same_lanes(top));
    store_lanes(e + c, last);
    for (std::size_t beyond = k; beyond < c + kLanes; ++beyond) e[beyond] = 0.0;
  }
  e[place] = 0.0;
  const double rest = sum(e, k);
  e[place] = 1.0;
  return {top, rest, place};
}

MINIMAND_INLINE void multiply(double* row, std::size_t k, double factor) {
  for (std::size_t c = 0; c < k; c += kLanes) store_lanes(row + c, factor * load_lanes(row + c));
}

/// The slope of the class itself is minus the sum of the others, which does not cancel.
MINIMAND_INLINE void subtract_one(double* row, std::size_t k, std::size_t y) {
  row[y] = 0.0;
  row[y] = -sum(row, k);
}

MINIMAND_INLINE double log_of_sum(double rest) { return log_one_plus(same_lanes(rest))[0]; }

/// p E(log(q / p)) = p log(p / q) - p + q >= 0, E(x) = e^x - 1 - x, for difference = p - q.
MINIMAND_INLINE Lanes divergence(Lanes p, Lanes q, Lanes log_q, Lanes difference) {
  const Lanes zero = {};
  const Lanes one = same_lanes(1.0);
  const Lanes half = 0.5 * q;
  const auto close = (difference <= half) & (difference >= -half) & (q > zero);
  const Lanes near = -log_one_plus(select(close, difference / select(q > zero, q, one), zero));
  const Lanes far = log_q - logarithm(select(p > zero, p, one));
  const Lanes x = select(close, near, far);
  const auto small = (x < 0.5) & (x > -0.5);
  const Lanes s = select(small, x, zero);
  // x^2 / 2 (1 + x/3 (1 + x/4 (...))), exact to rounding for |x| < 1/2.
  Lanes series = one;
  for (int n = 18; n > 2; --n) series = 1.0 + s * (1.0 / n) * series;
  const Lanes plain = q - p * (1.0 + x);
  const Lanes term = select(small, p * (0.5 * s * s) * series, select(plain > zero, plain, zero));
  return select(p > zero, term, q);
}

}  // namespace

MINIMAND_CLONES void softmax_range(const double* z, std::size_t k, const std::int64_t* y,
                                   Range rows, double* row, double* value, double* gradient,
                                   double* probabilities) {
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    const Relative found = relative(z + i * k, k, row);
    if (value != nullptr) {
      value[i] = (found.top - z[i * k + static_cast<std::size_t>(y[i])]) + log_of_sum(found.rest);
    }
    if (gradient == nullptr && probabilities == nullptr) continue;
    multiply(row, k, 1.0 / (1.0 + found.rest));
    if (probabilities != nullptr) {
      for (std::size_t c = 0; c < k; ++c) probabilities[i * k + c] = row[c];
    }
    if (gradient == nullptr) continue;
    subtract_one(row, k, static_cast<std::size_t>(y[i]));
    for (std::size_t c = 0; c < k; ++c) gradient[i * k + c] = row[c];
  }
}

MINIMAND_CLONES void relative_entropy_rows(const double* z, std::size_t k, const double* u,
                                           const std::int64_t* y, Range rows, double* row,
                                           double* result) {
  const Lanes zero = {};
  double* const slope = row + padded(k);
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    const Relative found = relative(z + i * k, k, row);
    const Lanes top = same_lanes(found.top), log_sum = same_lanes(log_of_sum(found.rest));
    multiply(row, k, 1.0 / (1.0 + found.rest));
    const auto own = static_cast<std::size_t>(y[i]);
    for (std::size_t c = 0; c < padded(k); ++c) slope[c] = row[c];
    subtract_one(slope, k, own);
    Lanes total = {};
    for (std::size_t c = 0; c < k; c += kLanes) {
      const std::size_t count = k - c < kLanes ? k - c : kLanes;
      const Lanes moved = load_some(u + i * k + c, count);
      Lanes p = moved;
      if (own >= c && own < c + count) p[own - c] += 1.0;
      p = select(p > zero, p, zero);
      const Lanes log_q = (load_some(z + i * k + c, count) - top) - log_sum;
      const Lanes terms = divergence(p, load_lanes(row + c), log_q, moved - load_lanes(slope + c));
      for (std::size_t l = 0; l < count; ++l) total[l] += terms[l];
    }
    result[i] = sum_lanes(total);
  }
}

MINIMAND_CLONES void simplex_range(const double* p, std::size_t k, const double* scale,
                                   const double* t, Range rows, double* result) {
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    simplex_row(p + i * k, k, scale == nullptr ? 1.0 : scale[i], t + i * k, result + i * k);
  }
}

/// sums: the value, then padded rows of slope and size, then k padded rows of squares.
MINIMAND_CLONES void sums_range(const double* z, std::size_t k, const double* shift,
                                const std::int64_t* y, const double* mass, Range rows, double* row,
                                double* sums) {
  const Lanes zero = {};
  const std::size_t stride = padded(k);
  double* const moved = row + stride;
  double* const slope = sums + kLanes;
  double* const size = slope + stride;
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    for (std::size_t c = 0; c < k; ++c) moved[c] = z[i * k + c] + shift[c];
    const Relative found = relative(moved, k, row);
    const auto own = static_cast<std::size_t>(y[i]);
    sums[0] += mass[i] * ((found.top - moved[own]) + log_of_sum(found.rest));
    multiply(row, k, 1.0 / (1.0 + found.rest));
    double* square = size + stride;
    for (std::size_t c = 0; c < k; ++c, square += stride) {
      const Lanes factor = same_lanes(mass[i] * row[c]);
      for (std::size_t l = 0; l < stride; l += kLanes) {
        store_lanes(square + l, load_lanes(square + l) + factor * load_lanes(row + l));
      }
    }
    subtract_one(row, k, own);
    const Lanes weight = same_lanes(mass[i]);
    for (std::size_t l = 0; l < stride; l += kLanes) {
      const Lanes part = weight * load_lanes(row + l);
      store_lanes(slope + l, load_lanes(slope + l) + part);
      store_lanes(size + l, load_lanes(size + l) + select(part < zero, -part, part));
    }
  }
}

SoftmaxSums softmax_sums(std::span<const double> z, std::size_t k, std::span<const double> shift,
                         std::span<const std::int64_t> y, std::span<const double> mass) {
  const std::size_t stride = padded(k), length = kLanes + (k + 2) * stride;
  const auto splits =
      even_splits(y.size(), part_count(y.size(), (kOperations + k / 4) * z.size(), length));
  std::vector<double> all(length);
  PrivateSums sums(all, splits.size() - 1);
  run_parts(splits, [&](Range rows, std::size_t part) {
    std::vector<double> row(2 * stride);
    sums_range(z.data(), k, shift.data(), y.data(), mass.data(), rows, row.data(),
               sums.of(part).data());
  });
  sums.add_up();
  SoftmaxSums found;
  const double* from = all.data();
  found.value = from[0];
  from += kLanes;
  found.slope.assign(from, from + k);
  from += stride;
  found.size.assign(from, from + k);
  for (std::size_t c = 0; c < k; ++c) {
    from += stride;
    found.square.insert(found.square.end(), from, from + k);
  }
  return found;
}

void softmax_terms(std::span<const double> z, std::size_t k, std::span<const std::int64_t> y,
                   SoftmaxTerms terms) {
  const auto pointer = [](std::span<double> to) { return to.empty() ? nullptr : to.data(); };
  const std::size_t n = k > 0 ? z.size() / k : 0;
  parallel_ranges(n, kOperations * z.size(), [&](Range rows, std::size_t) {
    std::vector<double> row(padded(k));
    softmax_range(z.data(), k, y.data(), rows, row.data(), pointer(terms.value),
                  pointer(terms.gradient), pointer(terms.probabilities));
  });
}

void softmax_relative_entropies(std::span<const double> z, std::size_t k, std::span<const double> u,
                                std::span<const std::int64_t> y, std::span<double> result) {
  parallel_ranges(y.size(), 4 * kOperations * z.size(), [&](Range rows, std::size_t) {
    std::vector<double> row(2 * padded(k));
    relative_entropy_rows(z.data(), k, u.data(), y.data(), rows, row.data(), result.data());
  });
}

void simplex_times(std::span<const double> p, std::size_t k, std::span<const double> scale,
                   std::span<const double> t, std::span<double> result) {
  const std::size_t n = k > 0 ? p.size() / k : 0;
  parallel_ranges(n, 4 * p.size(), [&](Range rows, std::size_t) {
    simplex_range(p.data(), k, scale.empty() ? nullptr : scale.data(), t.data(), rows,
                  result.data());
  });
}

void scale_rows(std::span<const double> t, std::size_t k, std::span<const double> factors,
                std::span<double> result) {
  parallel_ranges(factors.size(), t.size(), [&](Range rows, std::size_t) {
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      const double* const from = t.data() + i * k;
      double* const to = result.data() + i * k;
      for (std::size_t c = 0; c < k; ++c) to[c] = factors[i] * from[c];
    }
  });
}

}  // namespace minimand
