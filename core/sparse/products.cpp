#include "sparse/products.hpp"

#include "scores/sparse.hpp"
#include "sparse/entries.hpp"

namespace minimand {
namespace {

template <class Scalar, class Index>
void gather_one(const Compressed<Scalar, Index>& matrix, Range majors, std::span<const double> x,
                std::span<double> y) {
  for (std::size_t m = majors.begin; m < majors.end; ++m) {
    y[m] = sparse_dot(matrix.values_of(m), matrix.indices_of(m), x);
  }
}

template <class Scalar, class Index>
void scatter_one(const Compressed<Scalar, Index>& matrix, Range majors, std::span<const double> x,
                 std::span<double> y) {
  for (std::size_t m = majors.begin; m < majors.end; ++m) {
    if (x[m] != 0.0) sparse_axpy(x[m], matrix.values_of(m), matrix.indices_of(m), y);
  }
}

/// Entries of the majors that x does not skip.
template <class Scalar, class Index>
std::size_t stored_at(const Compressed<Scalar, Index>& matrix, std::span<const double> x) {
  std::size_t stored = 0;
  for (std::size_t m = 0; m < x.size(); ++m) stored += x[m] != 0.0 ? matrix.size_of(m) : 0;
  return stored;
}

/// Splits picked majors into parts with equal numbers of entries: frequent columns often come
/// first.
template <class Scalar, class Index>
std::vector<std::size_t> picked_splits(const Compressed<Scalar, Index>& matrix,
                                       std::span<const std::int64_t> majors, std::size_t copy) {
  std::vector<std::int64_t> ends(majors.size() + 1);
  for (std::size_t k = 0; k < majors.size(); ++k) {
    const std::size_t size = matrix.size_of(static_cast<std::size_t>(majors[k]));
    ends[k + 1] = ends[k] + static_cast<std::int64_t>(size);
  }
  const auto work = static_cast<std::size_t>(ends.back());
  return balanced_splits(std::span<const std::int64_t>(ends),
                         part_count(majors.size(), work, copy));
}

/// Width is a constant when positive, so that the usual few vectors stay in registers.
template <std::size_t Width, class Scalar, class Index>
void gather_few(const Compressed<Scalar, Index>& matrix, Range majors, std::span<const double> x,
                std::span<double> y) {
  for (std::size_t m = majors.begin; m < majors.end; ++m) {
    const auto values = matrix.values_of(m);
    const auto indices = matrix.indices_of(m);
    double sums[Width] = {};
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double value = static_cast<double>(values[k]);
      const double* from = x.data() + static_cast<std::size_t>(indices[k]) * Width;
      for (std::size_t c = 0; c < Width; ++c) sums[c] += value * from[c];
    }
    for (std::size_t c = 0; c < Width; ++c) y[m * Width + c] = sums[c];
  }
}

template <std::size_t Width, class Scalar, class Index>
void scatter_few(const Compressed<Scalar, Index>& matrix, Range majors, std::span<const double> x,
                 std::span<double> y) {
  for (std::size_t m = majors.begin; m < majors.end; ++m) {
    const auto values = matrix.values_of(m);
    const auto indices = matrix.indices_of(m);
    double from[Width];
    for (std::size_t c = 0; c < Width; ++c) from[c] = x[m * Width + c];
    for (std::size_t k = 0; k < values.size(); ++k) {
      const double value = static_cast<double>(values[k]);
      double* const to = y.data() + static_cast<std::size_t>(indices[k]) * Width;
      for (std::size_t c = 0; c < Width; ++c) to[c] += value * from[c];
    }
  }
}

}  // namespace

template <class Scalar, class Index>
void gather(const Compressed<Scalar, Index>& matrix, std::span<const double> x, std::size_t width,
            std::span<double> y) {
  if (width > 4) return gather_wide(matrix, x, width, y);
  run_parts(matrix.splits(matrix.stored() * width), [&](Range majors, std::size_t) {
    switch (width) {
      case 0:
        return;
      case 1:
        return gather_one(matrix, majors, x, y);
      case 2:
        return gather_few<2>(matrix, majors, x, y);
      case 3:
        return gather_few<3>(matrix, majors, x, y);
      default:
        return gather_few<4>(matrix, majors, x, y);
    }
  });
}

template <class Scalar, class Index>
void gather_picked(const Compressed<Scalar, Index>& matrix, std::span<const std::int64_t> majors,
                   std::span<const double> x, std::span<double> y) {
  run_parts(picked_splits(matrix, majors, 0), [&](Range range, std::size_t) {
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const auto m = static_cast<std::size_t>(majors[k]);
      y[k] = sparse_dot(matrix.values_of(m), matrix.indices_of(m), x);
    }
  });
}

template <class Scalar, class Index>
void scatter(const Compressed<Scalar, Index>& matrix, std::span<const double> x, std::size_t width,
             std::span<double> y) {
  if (width > 3) return scatter_wide(matrix, x, width, y);
  const std::size_t work = width == 1 ? stored_at(matrix, x) : matrix.stored() * width;
  const auto splits = matrix.splits(work, y.size());
  PrivateSums sums(y, splits.size() - 1);
  run_parts(splits, [&](Range majors, std::size_t part) {
    switch (width) {
      case 0:
        return;
      case 1:
        return scatter_one(matrix, majors, x, sums.of(part));
      case 2:
        return scatter_few<2>(matrix, majors, x, sums.of(part));
      default:
        return scatter_few<3>(matrix, majors, x, sums.of(part));
    }
  });
  sums.add_up();
}

template <class Scalar, class Index>
void scatter_picked(const Compressed<Scalar, Index>& matrix, std::span<const std::int64_t> majors,
                    std::span<const double> x, std::span<double> y) {
  const auto splits = picked_splits(matrix, majors, y.size());
  PrivateSums sums(y, splits.size() - 1);
  run_parts(splits, [&](Range range, std::size_t part) {
    const std::span<double> to = sums.of(part);
    for (std::size_t k = range.begin; k < range.end; ++k) {
      const auto m = static_cast<std::size_t>(majors[k]);
      sparse_axpy(x[k], matrix.values_of(m), matrix.indices_of(m), to);
    }
  });
  sums.add_up();
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                                                     \
  template void gather(const Compressed<Scalar, Index>&, std::span<const double>, std::size_t,  \
                       std::span<double>);                                                      \
  template void gather_picked(const Compressed<Scalar, Index>&, std::span<const std::int64_t>,  \
                              std::span<const double>, std::span<double>);                      \
  template void scatter(const Compressed<Scalar, Index>&, std::span<const double>, std::size_t, \
                        std::span<double>);                                                     \
  template void scatter_picked(const Compressed<Scalar, Index>&, std::span<const std::int64_t>, \
                               std::span<const double>, std::span<double>);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)

}  // namespace minimand
