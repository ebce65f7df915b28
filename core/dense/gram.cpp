#include "dense/gram.hpp"

#include "common/lanes.hpp"
#include "common/symmetric.hpp"
#include "common/watch.hpp"

// A matrix product in the manner of Goto: blocks of rows are packed into panels of kPanel columns,
// once as they are and once weighted, and a micro-kernel multiplies a sub-panel by a panel with all
// its sums in registers. Only panels on and above the diagonal are multiplied.
namespace minimand {
namespace {

constexpr std::size_t kPanel =
    12;  // columns of a panel: 3 vectors of 4; derived from the registers
constexpr std::size_t kSubPanel = 4;         // rows: 4 x 3 sums fill 12 of 16 registers; derived
constexpr std::size_t kAcross = 3 * kLanes;  // columns, 3 vectors; derived as kPanel
constexpr std::size_t kBlockRows = 128;  // rows; safeguard: two packed panels fit the first cache
constexpr std::size_t kPanelGroup = 8;   // packed panels; safeguard: they fit the second cache
constexpr std::size_t kPackedPanel = kPanel * kBlockRows;
constexpr std::size_t kStripWork = std::size_t{1} << 30;  // products, a tenth of a second; measured

/// Doubles of a Gram matrix (4 MB) above which threads share it instead of having one each;
/// safeguard.
constexpr std::size_t kLargestPrivateGram = std::size_t{1} << 19;

std::size_t panel_count(std::size_t columns) { return (columns + kPanel - 1) / kPanel; }

/// What is packed: the columns minus their shifts, and optionally a last column of ones.
struct Columns {
  std::span<const double> shift;  // zeros beyond the last column of the matrix
  bool with_ones;
};

/// Both packed copies of one block of rows.
struct Packed {
  std::span<double> plain;
  std::span<double> weighted;
};

/// The element in a given row and column.
template <class Scalar>
MINIMAND_INLINE double element(const DenseMatrix<Scalar>& matrix, std::size_t row,
                               std::size_t column) {
  const std::size_t offset =
      matrix.by_rows ? row * matrix.stride + column : column * matrix.stride + row;
  return static_cast<double>(matrix.values.data()[offset]);
}

template <class Scalar>
MINIMAND_INLINE void pack_full_panel_by_rows(const DenseMatrix<Scalar>& matrix, Range rows,
                                             std::size_t first_column, const double* shift,
                                             const double* weight, double* plain,
                                             double* weighted) {
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    const Scalar* from = matrix.values.data() + i * matrix.stride + first_column;
    for (std::size_t c = 0; c < kPanel; c += kLanes) {
      const Lanes lanes = load_lanes(from + c) - load_lanes(shift + first_column + c);
      store_lanes(plain + c, lanes);
      store_lanes(weighted + c, weight[i] * lanes);
    }
    plain += kPanel;
    weighted += kPanel;
  }
}

/// Transposes a square of elements at a time in registers.
template <class Scalar>
MINIMAND_INLINE void pack_full_panel_by_columns(const DenseMatrix<Scalar>& matrix, Range rows,
                                                std::size_t first_column, const double* shift,
                                                const double* weight, double* plain,
                                                double* weighted) {
  const std::size_t stride = matrix.stride;
  for (std::size_t c = 0; c < kPanel; c += kLanes) {
    const Lanes shifts = load_lanes(shift + first_column + c);
    const Scalar* column = matrix.values.data() + (first_column + c) * stride;
    double* to_plain = plain + c;
    double* to_weighted = weighted + c;
    std::size_t i = rows.begin;
    for (; i + kLanes <= rows.end; i += kLanes) {
      Lanes lanes[kLanes];
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kLanes; ++k) lanes[k] = load_lanes(column + k * stride + i);
      transpose(lanes);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < kLanes; ++k) {
        store_lanes(to_plain, lanes[k] - shifts);
        store_lanes(to_weighted, weight[i + k] * (lanes[k] - shifts));
        to_plain += kPanel;
        to_weighted += kPanel;
      }
    }
    for (; i < rows.end; ++i) {
      for (std::size_t k = 0; k < kLanes; ++k) {
        to_plain[k] = static_cast<double>(column[k * stride + i]) - shifts[k];
        to_weighted[k] = weight[i] * to_plain[k];
      }
      to_plain += kPanel;
      to_weighted += kPanel;
    }
  }
}

/// Packs the last panel, of `width` columns; the others are filled with `beyond`.
template <class Scalar>
MINIMAND_INLINE void pack_last_panel_by_rows(const DenseMatrix<Scalar>& matrix, Range rows,
                                             std::size_t first_column, std::size_t width,
                                             const double* shift, const double* beyond,
                                             const double* weight, double* plain,
                                             double* weighted) {
  const std::size_t whole = width - width % kLanes;
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    const Scalar* from = matrix.values.data() + i * matrix.stride + first_column;
    for (std::size_t c = 0; c < kPanel; c += kLanes) {
      Lanes lanes = load_lanes(beyond + c);
      if (c < whole) {
        lanes = load_lanes(from + c) - load_lanes(shift + first_column + c);
      } else {
        for (std::size_t k = c; k < width; ++k) {
          lanes[k - c] = static_cast<double>(from[k]) - shift[first_column + k];
        }
      }
      store_lanes(plain + c, lanes);
      store_lanes(weighted + c, weight[i] * lanes);
    }
    plain += kPanel;
    weighted += kPanel;
  }
}

/// Columns beyond the last are packed as zeros, or the first of them as ones.
template <class Scalar>
MINIMAND_INLINE void pack_panel(const DenseMatrix<Scalar>& matrix, const Columns& packing,
                                Range rows, std::size_t panel, const double* weight, double* plain,
                                double* weighted) {
  const std::size_t first_column = panel * kPanel;
  const std::size_t columns = matrix.by_rows ? matrix.length : matrix.lines;
  const std::size_t width = columns - first_column < kPanel ? columns - first_column : kPanel;
  const double* shift = packing.shift.data();
  if (width == kPanel) {
    if (matrix.by_rows) {
      pack_full_panel_by_rows(matrix, rows, first_column, shift, weight, plain, weighted);
    } else {
      pack_full_panel_by_columns(matrix, rows, first_column, shift, weight, plain, weighted);
    }
    return;
  }
  double beyond[kPanel] = {};
  if (packing.with_ones) beyond[width] = 1.0;
  if (matrix.by_rows) {
    pack_last_panel_by_rows(matrix, rows, first_column, width, shift, beyond, weight, plain,
                            weighted);
    return;
  }
  for (std::size_t c = 0; c < kPanel; ++c) {
    double* to_plain = plain + c;
    double* to_weighted = weighted + c;
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      const double value =
          c < width ? element(matrix, i, first_column + c) - shift[first_column + c] : beyond[c];
      *to_plain = value;
      *to_weighted = weight[i] * value;
      to_plain += kPanel;
      to_weighted += kPanel;
    }
  }
}

/// gram (kSubPanel x kAcross, rows `side` apart) += left' right, over `height` packed rows.
MINIMAND_INLINE void multiply_sub_panel(const double* left, const double* right, std::size_t height,
                                        double* gram, std::size_t side) {
  // The sums of a large matrix are not in a cache: prefetch them now.
  for (std::size_t r = 0; r < kSubPanel; ++r) {
    __builtin_prefetch(gram + r * side, 1);
    __builtin_prefetch(gram + r * side + kAcross - 1, 1);
  }
  Lanes sums[kSubPanel][3] = {};
  for (std::size_t p = 0; p < height; ++p) {
    const Lanes right0 = load_lanes(right);
    const Lanes right1 = load_lanes(right + kLanes);
    const Lanes right2 = load_lanes(right + 2 * kLanes);
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kSubPanel; ++r) {
      sums[r][0] += left[r] * right0;
      sums[r][1] += left[r] * right1;
      sums[r][2] += left[r] * right2;
    }
    left += kPanel;
    right += kPanel;
  }
#pragma GCC unroll 4
  for (std::size_t r = 0; r < kSubPanel; ++r) {
#pragma GCC unroll 3
    for (std::size_t v = 0; v < 3; ++v) {
      double* to = gram + r * side + v * kLanes;
      store_lanes(to, load_lanes(to) + sums[r][v]);
    }
  }
}

/// Adds the products of one packed block for the rows of the Gram matrix in panels `own`.
MINIMAND_INLINE void multiply_block(Packed packed, std::size_t height, Range own,
                                    std::size_t panels, double* gram) {
  const std::size_t side = panels * kPanel;
  for (std::size_t group = own.begin; group < own.end; group += kPanelGroup) {
    const std::size_t group_end = group + kPanelGroup < own.end ? group + kPanelGroup : own.end;
    for (std::size_t j = group; j < panels; ++j) {
      const double* right = packed.weighted.data() + j * kPackedPanel;
      for (std::size_t i = group; i < group_end && i <= j; ++i) {
        const double* left = packed.plain.data() + i * kPackedPanel;
        for (std::size_t r = 0; r < kPanel; r += kSubPanel) {
          double* const to = gram + (i * kPanel + r) * side + j * kPanel;
          for (std::size_t c = 0; c < kPanel; c += kAcross) {
            multiply_sub_panel(left + r, right + c, height, to + c, side);
          }
        }
      }
    }
  }
}

/// Adds the products of the rows in `rows` for the rows of the Gram matrix in panels `own`.
template <class Scalar>
MINIMAND_INLINE void gram_body(const DenseMatrix<Scalar>& matrix, const Columns& packing,
                               Range rows, Range own, std::size_t panels, std::span<const double> h,
                               Packed packed, std::span<double> gram) {
  for (std::size_t i = rows.begin; i < rows.end; i += kBlockRows) {
    const std::size_t end = i + kBlockRows < rows.end ? i + kBlockRows : rows.end;
    for (std::size_t panel = own.begin; panel < panels; ++panel) {
      const std::size_t offset = panel * kPackedPanel;
      pack_panel(matrix, packing, Range{i, end}, panel, h.data(), packed.plain.data() + offset,
                 packed.weighted.data() + offset);
    }
    multiply_block(packed, end - i, own, panels, gram.data());
  }
}

/// Bands of panels with nearly equal areas of the upper triangle.
std::vector<std::size_t> triangle_splits(std::size_t panels, std::size_t parts) {
  std::vector<std::size_t> splits(parts + 1, panels);
  splits[0] = 0;
  const std::size_t area = panels * (panels + 1) / 2;
  std::size_t covered = 0, part = 1;
  for (std::size_t panel = 0; panel < panels && part < parts; ++panel) {
    covered += panels - panel;
    if (covered * parts >= area * part) splits[part++] = panel + 1;
  }
  return splits;
}

}  // namespace

#define MINIMAND_KERNEL(Scalar)                                                               \
  MINIMAND_CLONES void add_gram(                                                              \
      const DenseMatrix<Scalar>& matrix, const Columns& packing, Range rows, Range own,       \
      std::size_t panels, std::span<const double> h, Packed packed, std::span<double> gram) { \
    gram_body(matrix, packing, rows, own, panels, h, packed, gram);                           \
  }
namespace {
MINIMAND_KERNEL(float)
MINIMAND_KERNEL(double)

/// The Gram matrix of the packed columns, padded to whole panels; only its upper triangle.
template <class Scalar>
std::vector<double> padded_gram(const DenseMatrix<Scalar>& matrix, std::span<const double> h,
                                const Columns& packing) {
  const std::size_t columns = matrix.columns() + (packing.with_ones ? 1 : 0);
  const std::size_t panels = panel_count(columns);
  const std::size_t side = panels * kPanel;
  const std::size_t work = matrix.size() * (2 + columns / 4) / kProductsPerOperation;
  // Small matrices: every thread takes rows and has its own sums. Large ones: every thread takes a
  // band of the result and packs all rows for itself, which costs little next to the products.
  const bool over_rows = side * side <= kLargestPrivateGram;
  const std::size_t copy = side * side / kProductsPerOperation;
  const std::size_t parts =
      over_rows ? part_count(matrix.rows(), work, copy) : part_count(panels, work);
  const auto splits =
      over_rows ? even_splits(matrix.rows(), parts) : triangle_splits(panels, parts);

  // Rows between two checks whether to stop: whole blocks, so that checks do not change the sums.
  const std::size_t strip = kBlockRows * (1 + kStripWork / (kBlockRows * side * side + 1));
  GiveUp give_up;

  std::vector<double> padded(side * side);
  PrivateSums sums(padded, over_rows ? parts : 1);
  const std::size_t packed_size = panels * kPackedPanel;
  std::vector<double> workspace(2 * packed_size * parts);
  run_parts(splits, [&](Range range, std::size_t part) {
    const auto own = std::span(workspace).subspan(2 * packed_size * part, 2 * packed_size);
    const Packed packed{own.first(packed_size), own.last(packed_size)};
    const Range rows = over_rows ? range : Range{0, matrix.rows()};
    const Range bands = over_rows ? Range{0, panels} : range;
    for (std::size_t i = rows.begin; i < rows.end && !give_up.leaves(part); i += strip) {
      const Range some{i, std::min(i + strip, rows.end)};
      add_gram(matrix, packing, some, bands, panels, h, packed, sums.of(over_rows ? part : 0));
    }
  });
  give_up.throw_if_left();
  sums.add_up();
  return padded;
}

/// The first `columns` rows and columns of a padded matrix, both triangles.
void unpad(std::span<const double> padded, std::size_t side, std::size_t columns,
           std::span<double> gram) {
  for (std::size_t i = 0; i < columns; ++i) {
    std::copy_n(padded.begin() + static_cast<std::ptrdiff_t>(i * side), columns,
                gram.begin() + static_cast<std::ptrdiff_t>(i * columns));
  }
  mirror_upper(gram, columns);
}

}  // namespace

template <class Scalar>
void dense_gram(const DenseMatrix<Scalar>& matrix, std::span<const double> h,
                std::span<double> gram) {
  const std::size_t columns = matrix.columns();
  const std::size_t side = panel_count(columns) * kPanel;
  const std::vector<double> zeros(side);
  unpad(padded_gram(matrix, h, {zeros, false}), side, columns, gram);
}

template <class Scalar>
void dense_covariance(const DenseMatrix<Scalar>& matrix, std::span<const double> h,
                      std::span<const double> centre, std::span<double> gram,
                      std::span<double> first) {
  const std::size_t columns = matrix.columns();
  const std::size_t side = panel_count(columns + 1) * kPanel;
  std::vector<double> shift(side);
  std::copy(centre.begin(), centre.end(), shift.begin());
  const std::vector<double> padded = padded_gram(matrix, h, {shift, true});
  unpad(padded, side, columns, gram);
  for (std::size_t i = 0; i < columns; ++i) first[i] = padded[i * side + columns];
}

#define MINIMAND_INSTANTIATE(Scalar)                                                  \
  template void dense_gram(const DenseMatrix<Scalar>&, std::span<const double>,       \
                           std::span<double>);                                        \
  template void dense_covariance(const DenseMatrix<Scalar>&, std::span<const double>, \
                                 std::span<const double>, std::span<double>, std::span<double>);
MINIMAND_INSTANTIATE(float)
MINIMAND_INSTANTIATE(double)

}  // namespace minimand
