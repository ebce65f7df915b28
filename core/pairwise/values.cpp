#include "pairwise/values.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "common/parallel.hpp"
#include "common/symmetric.hpp"
#include "common/watch.hpp"
#include "common/wide_lanes.hpp"
#include "scalar/exponential.hpp"
#include "scalar/single_exponential.hpp"

namespace minimand {

// External linkage: the loader resolves these names to the clone for this processor.
void gaussian_row(double* row, const double* column_squares, std::size_t n, double square,
                  double factor);
void gaussian_row(float* row, const float* column_squares, std::size_t n, float square,
                  float factor);
void gaussian_differences_row(const double* x, const double* z, std::size_t n, std::size_t d,
                              double factor, double* row);
void gaussian_differences_row(const float* x, const float* z, std::size_t n, std::size_t d,
                              double factor, float* row);
void laplacian_row(const double* x, const double* z, std::size_t n, std::size_t d, double factor,
                   double* row);
void laplacian_row(const float* x, const float* z, std::size_t n, std::size_t d, double factor,
                   float* row);
void differences_row(const double* x, const double* z, std::size_t n, std::size_t d, bool squared,
                     double* row);
void differences_row(const float* x, const float* z, std::size_t n, std::size_t d, bool squared,
                     float* row);
void minima_row(const double* x, const double* z, std::size_t n, std::size_t d, double* row);
void minima_row(const float* x, const float* z, std::size_t n, std::size_t d, float* row);
void power_row(double* row, std::size_t n, double c, unsigned degree);
void power_row(float* row, std::size_t n, float c, unsigned degree);

namespace {

constexpr std::size_t kExponential = 16;  // element operations of one exponential, about; safeguard

MINIMAND_INLINE void put(double* target, WideLanes lanes) {
  __builtin_memcpy(target, &lanes, sizeof lanes);
}

MINIMAND_INLINE void put(float* target, WideLanes lanes) {
  const WideFloats narrow = __builtin_convertvector(lanes, WideFloats);
  __builtin_memcpy(target, &narrow, sizeof narrow);
}

MINIMAND_INLINE double exponential_of(double x) { return exponential(same_lanes(x))[0]; }

MINIMAND_INLINE void gaussian(double* row, const double* column_squares, std::size_t n,
                              double square, double factor) {
  const WideLanes zero = {};
  std::size_t j = 0;
  for (; j + kWideLanes <= n; j += kWideLanes) {
    const WideLanes distance = square + load_wide(column_squares + j) - 2.0 * load_wide(row + j);
    put(row + j, exponential(factor * (distance > zero ? distance : zero)));
  }
  for (; j < n; ++j) {
    const double distance = square + column_squares[j] - 2.0 * row[j];
    row[j] = exponential_of(factor * (distance > 0.0 ? distance : 0.0));
  }
}

/// In float32 twice as many values fit a register; the products have its rounding anyway.
MINIMAND_INLINE void gaussian(float* row, const float* column_squares, std::size_t n, float square,
                              float factor) {
  const Singles zero = {};
  std::size_t j = 0;
  for (; j + kSingles <= n; j += kSingles) {
    const Singles distance =
        square + load_singles(column_squares + j) - 2.0f * load_singles(row + j);
    store_singles(row + j, exponential_below_one(factor * (distance > zero ? distance : zero)));
  }
  for (; j < n; ++j) {
    const float distance = square + column_squares[j] - 2.0f * row[j];
    row[j] = exponential_below_one(factor * (distance > 0.0f ? distance : 0.0f) - zero)[0];
  }
}

/// A run of values at a time, which stays in the first cache while its powers are taken.
template <class Scalar>
MINIMAND_INLINE void power(Scalar* row, std::size_t n, Scalar c, unsigned degree) {
  constexpr std::size_t kRun = 512;  // values, 4 kB; safeguard: two runs fit the first cache
  Scalar base[kRun];
  for (std::size_t first = 0; first < n; first += kRun) {
    Scalar* const values = row + first;
    const std::size_t count = std::min(kRun, n - first);
    for (std::size_t j = 0; j < count; ++j) base[j] = values[j] += c;
    for (unsigned bit = std::bit_floor(degree) >> 1; bit != 0; bit >>= 1) {
      if (degree & bit) {
        for (std::size_t j = 0; j < count; ++j) values[j] = values[j] * values[j] * base[j];
      } else {
        for (std::size_t j = 0; j < count; ++j) values[j] *= values[j];
      }
    }
  }
}

struct Distance {
  MINIMAND_INLINE static WideLanes of(WideLanes x, WideLanes z) {
    const WideLanes difference = x - z;
    return difference < 0.0 ? -difference : difference;
  }
  MINIMAND_INLINE static double of(double x, double z) { return x > z ? x - z : z - x; }
};

struct SquaredDistance {
  MINIMAND_INLINE static WideLanes of(WideLanes x, WideLanes z) {
    const WideLanes difference = x - z;
    return difference * difference;
  }
  MINIMAND_INLINE static double of(double x, double z) { return (x - z) * (x - z); }
};

struct Least {
  MINIMAND_INLINE static WideLanes of(WideLanes x, WideLanes z) { return x < z ? x : z; }
  MINIMAND_INLINE static double of(double x, double z) { return x < z ? x : z; }
};

/// Calls f(j, sums, count) with sum_k Function(x_k, z_kj) for vectors of columns j.
///
/// z has a row for every entry k, so that vectors hold one entry of several rows and no sum is
/// taken across a vector.
template <class Function, class Scalar, class Use>
MINIMAND_INLINE void totals(const Scalar* x, const Scalar* z, std::size_t n, std::size_t d,
                            const Use& use) {
  constexpr std::size_t kBlock = 4 * kWideLanes;  // columns with sums in registers; derived
  std::size_t j = 0;
  for (; j + kBlock <= n; j += kBlock) {
    WideLanes sum0 = {}, sum1 = {}, sum2 = {}, sum3 = {};
    for (std::size_t k = 0; k < d; ++k) {
      const WideLanes own = static_cast<double>(x[k]) - WideLanes{};
      const Scalar* const other = z + k * n + j;
      sum0 += Function::of(own, load_wide(other));
      sum1 += Function::of(own, load_wide(other + kWideLanes));
      sum2 += Function::of(own, load_wide(other + 2 * kWideLanes));
      sum3 += Function::of(own, load_wide(other + 3 * kWideLanes));
    }
    use.lanes(j, sum0);
    use.lanes(j + kWideLanes, sum1);
    use.lanes(j + 2 * kWideLanes, sum2);
    use.lanes(j + 3 * kWideLanes, sum3);
  }
  for (; j < n; ++j) {
    double sum = 0.0;
    for (std::size_t k = 0; k < d; ++k) {
      sum += Function::of(static_cast<double>(x[k]), static_cast<double>(z[k * n + j]));
    }
    use.one(j, sum);
  }
}

/// Writes exp(factor * sum).
template <class Scalar>
struct Exponentials {
  Scalar* row;
  double factor;
  MINIMAND_INLINE void lanes(std::size_t j, WideLanes sum) const {
    put(row + j, exponential(factor * sum));
  }
  MINIMAND_INLINE void one(std::size_t j, double sum) const {
    row[j] = static_cast<Scalar>(exponential_of(factor * sum));
  }
};

/// Writes the sum itself.
template <class Scalar>
struct Sums {
  Scalar* row;
  MINIMAND_INLINE void lanes(std::size_t j, WideLanes sum) const { put(row + j, sum); }
  MINIMAND_INLINE void one(std::size_t j, double sum) const { row[j] = static_cast<Scalar>(sum); }
};

template <class Scalar>
MINIMAND_INLINE void differences(const Scalar* x, const Scalar* z, std::size_t n, std::size_t d,
                                 bool squared, Scalar* row) {
  if (squared) return totals<SquaredDistance>(x, z, n, d, Sums<Scalar>{row});
  totals<Distance>(x, z, n, d, Sums<Scalar>{row});
}

/// Calls f(i) for every row i of a table, some rows on every thread.
template <class Function>
void each_row(std::size_t rows, std::size_t work, const Function& f) {
  GiveUp give_up;
  parallel_ranges(rows, work, [&](Range range, std::size_t part) {
    for (std::size_t i = range.begin; i < range.end && !give_up.leaves(part); ++i) f(i);
  });
  give_up.throw_if_left();
}

}  // namespace

MINIMAND_CLONES void gaussian_row(double* row, const double* column_squares, std::size_t n,
                                  double square, double factor) {
  gaussian(row, column_squares, n, square, factor);
}

MINIMAND_CLONES void gaussian_row(float* row, const float* column_squares, std::size_t n,
                                  float square, float factor) {
  gaussian(row, column_squares, n, square, factor);
}

MINIMAND_CLONES void gaussian_differences_row(const double* x, const double* z, std::size_t n,
                                              std::size_t d, double factor, double* row) {
  totals<SquaredDistance>(x, z, n, d, Exponentials<double>{row, factor});
}

MINIMAND_CLONES void gaussian_differences_row(const float* x, const float* z, std::size_t n,
                                              std::size_t d, double factor, float* row) {
  totals<SquaredDistance>(x, z, n, d, Exponentials<float>{row, factor});
}

MINIMAND_CLONES void laplacian_row(const double* x, const double* z, std::size_t n, std::size_t d,
                                   double factor, double* row) {
  totals<Distance>(x, z, n, d, Exponentials<double>{row, factor});
}

MINIMAND_CLONES void laplacian_row(const float* x, const float* z, std::size_t n, std::size_t d,
                                   double factor, float* row) {
  totals<Distance>(x, z, n, d, Exponentials<float>{row, factor});
}

MINIMAND_CLONES void differences_row(const double* x, const double* z, std::size_t n, std::size_t d,
                                     bool squared, double* row) {
  differences(x, z, n, d, squared, row);
}

MINIMAND_CLONES void differences_row(const float* x, const float* z, std::size_t n, std::size_t d,
                                     bool squared, float* row) {
  differences(x, z, n, d, squared, row);
}

MINIMAND_CLONES void minima_row(const double* x, const double* z, std::size_t n, std::size_t d,
                                double* row) {
  totals<Least>(x, z, n, d, Sums<double>{row});
}

MINIMAND_CLONES void minima_row(const float* x, const float* z, std::size_t n, std::size_t d,
                                float* row) {
  totals<Least>(x, z, n, d, Sums<float>{row});
}

MINIMAND_CLONES void power_row(double* row, std::size_t n, double c, unsigned degree) {
  power(row, n, c, degree);
}

MINIMAND_CLONES void power_row(float* row, std::size_t n, float c, unsigned degree) {
  power(row, n, c, degree);
}

template <class Scalar>
void gaussians(const Table<Scalar>& table, std::span<const double> row_squares,
               std::span<const double> column_squares, double factor) {
  const std::size_t n = column_squares.size();
  const std::vector<Scalar> squares(column_squares.begin(), column_squares.end());
  // An infinite factor would make a distance of zero no number.
  const double most = static_cast<double>(std::numeric_limits<Scalar>::max());
  const auto finite = static_cast<Scalar>(std::max(factor, -most));
  each_row(row_squares.size(), kExponential * row_squares.size() * n, [&](std::size_t i) {
    gaussian_row(table.values.data() + i * table.stride, squares.data(), n,
                 static_cast<Scalar>(row_squares[i]), finite);
  });
}

template <class Scalar>
void powers(const Table<Scalar>& table, std::size_t rows, std::size_t columns, double c,
            unsigned degree) {
  each_row(rows, rows * columns, [&](std::size_t i) {
    power_row(table.values.data() + i * table.stride, columns, static_cast<Scalar>(c), degree);
  });
}

template <class Scalar>
void mirror_in_parallel(std::span<Scalar> square, std::size_t side) {
  parallel_ranges(side, square.size(), [&](Range range, std::size_t) {
    mirror_rows(square, side, range.begin, range.end);
  });
}

template <class Scalar>
void gaussians_of_differences(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z,
                              double factor, std::span<Scalar> table) {
  const std::size_t n = z.length;
  each_row(x.lines, (x.length + kExponential) * table.size(), [&](std::size_t i) {
    gaussian_differences_row(x.values.data() + i * x.stride, z.values.data(), n, x.length, factor,
                             table.data() + i * n);
  });
}

template <class Scalar>
void laplacians(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z, double factor,
                std::span<Scalar> table) {
  const std::size_t n = z.length;
  each_row(x.lines, (x.length + kExponential) * table.size(), [&](std::size_t i) {
    laplacian_row(x.values.data() + i * x.stride, z.values.data(), n, x.length, factor,
                  table.data() + i * n);
  });
}

template <class Scalar>
void sums_of_differences(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z, bool squared,
                         std::span<Scalar> table) {
  const std::size_t n = z.length;
  each_row(x.lines, (x.length + 1) * table.size(), [&](std::size_t i) {
    differences_row(x.values.data() + i * x.stride, z.values.data(), n, x.length, squared,
                    table.data() + i * n);
  });
}

template <class Scalar>
void sums_of_minima(const DenseMatrix<Scalar>& x, const DenseMatrix<Scalar>& z,
                    std::span<Scalar> table) {
  const std::size_t n = z.length;
  each_row(x.lines, (x.length + 1) * table.size(), [&](std::size_t i) {
    minima_row(x.values.data() + i * x.stride, z.values.data(), n, x.length, table.data() + i * n);
  });
}

template void gaussians(const Table<double>&, std::span<const double>, std::span<const double>,
                        double);
template void gaussians(const Table<float>&, std::span<const double>, std::span<const double>,
                        double);
template void powers(const Table<double>&, std::size_t, std::size_t, double, unsigned);
template void powers(const Table<float>&, std::size_t, std::size_t, double, unsigned);
template void mirror_in_parallel(std::span<double>, std::size_t);
template void mirror_in_parallel(std::span<float>, std::size_t);
template void gaussians_of_differences(const DenseMatrix<double>&, const DenseMatrix<double>&,
                                       double, std::span<double>);
template void gaussians_of_differences(const DenseMatrix<float>&, const DenseMatrix<float>&, double,
                                       std::span<float>);
template void laplacians(const DenseMatrix<double>&, const DenseMatrix<double>&, double,
                         std::span<double>);
template void laplacians(const DenseMatrix<float>&, const DenseMatrix<float>&, double,
                         std::span<float>);
template void sums_of_differences(const DenseMatrix<double>&, const DenseMatrix<double>&, bool,
                                  std::span<double>);
template void sums_of_differences(const DenseMatrix<float>&, const DenseMatrix<float>&, bool,
                                  std::span<float>);
template void sums_of_minima(const DenseMatrix<double>&, const DenseMatrix<double>&,
                             std::span<double>);
template void sums_of_minima(const DenseMatrix<float>&, const DenseMatrix<float>&,
                             std::span<float>);

}  // namespace minimand
