#include "sparse/gram.hpp"

#include "common/symmetric.hpp"
#include "common/watch.hpp"
#include "sparse/entries.hpp"

namespace minimand {
namespace {

/// Doubles of a Gram matrix (32 MB) above which threads do not have one each; safeguard.
constexpr std::size_t kLargestPrivateGram = std::size_t{4} << 20;

struct Placed {
  std::size_t slot;
  double value;
  bool operator<(const Placed& other) const { return slot < other.slot; }
};

/// Adds the rows in `range` to the rows of the upper triangle whose slots are in `band`.
/// `placed` must have room for the longest row. Returns early if `left()`, called now and then, is
/// true.
template <class Scalar, class Index, class Slot, class Left>
void add_outer_products(const Compressed<Scalar, Index>& rows, Range range, Range band,
                        std::span<const double> h, std::span<const Slot> slot, std::size_t side,
                        std::span<Placed> placed, std::span<double> gram, const Left& left) {
  constexpr std::size_t kRowsBetweenLooks = 256;  // rows; safeguard
  for (std::size_t i = range.begin; i < range.end; ++i) {
    if (i % kRowsBetweenLooks == 0 && left()) return;
    if (h[i] == 0.0) continue;
    const auto values = rows.values_of(i);
    const auto indices = rows.indices_of(i);
    std::size_t count = 0;
    bool sorted = true;
    for (std::size_t k = 0; k < values.size(); ++k) {
      const Slot position = slot[indices[k]];
      if (position < 0) continue;
      placed[count] = {static_cast<std::size_t>(position), static_cast<double>(values[k])};
      sorted = sorted && (count == 0 || placed[count - 1].slot < placed[count].slot);
      ++count;
    }
    if (!sorted) std::sort(placed.begin(), placed.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t a = 0; a < count; ++a) {
      if (placed[a].slot < band.begin || placed[a].slot >= band.end) continue;
      const double scaled = h[i] * placed[a].value;
      double* const row = gram.data() + placed[a].slot * side;
      for (std::size_t b = a; b < count; ++b) row[placed[b].slot] += scaled * placed[b].value;
    }
  }
}

template <class Scalar, class Index>
std::size_t longest(const Compressed<Scalar, Index>& matrix) {
  std::size_t length = 0;
  for (std::size_t m = 0; m < matrix.majors(); ++m) length = std::max(length, matrix.size_of(m));
  return length;
}

/// Element operations if the `chosen` of `minors` columns were picked at random.
template <class Scalar, class Index>
std::size_t expected_work(const Compressed<Scalar, Index>& rows, std::size_t minors,
                          std::size_t chosen) {
  const auto stored = static_cast<double>(rows.stored());
  const double fraction = static_cast<double>(chosen) / std::max(1.0, static_cast<double>(minors));
  const double length = stored / std::max(1.0, static_cast<double>(rows.majors()));
  return static_cast<std::size_t>(stored * (1.0 + 0.5 * length * fraction * fraction));
}

}  // namespace

template <class Scalar, class Index, class Slot>
void gram_minor(const Compressed<Scalar, Index>& rows, std::span<const double> h,
                std::span<const Slot> slot, std::size_t side, std::span<double> gram) {
  const std::size_t room = longest(rows);
  const std::size_t work = expected_work(rows, slot.size(), side);
  GiveUp give_up;
  if (gram.size() <= kLargestPrivateGram) {
    const auto splits = rows.splits(work, gram.size());
    PrivateSums sums(gram, splits.size() - 1);
    std::vector<Placed> placed(room * (splits.size() - 1));
    run_parts(splits, [&](Range range, std::size_t part) {
      add_outer_products(rows, range, Range{0, side}, h, slot, side,
                         std::span(placed).subspan(part * room, room), sums.of(part),
                         [&] { return give_up.leaves(part); });
    });
    give_up.throw_if_left();
    sums.add_up();
  } else {
    std::fill(gram.begin(), gram.end(), 0.0);
    const auto splits = even_splits(side, part_count(side, work));
    std::vector<Placed> placed(room * (splits.size() - 1));
    run_parts(splits, [&](Range band, std::size_t part) {
      add_outer_products(rows, Range{0, rows.majors()}, band, h, slot, side,
                         std::span(placed).subspan(part * room, room), gram,
                         [&] { return give_up.leaves(part); });
    });
    give_up.throw_if_left();
  }
  mirror_upper(gram, side);
}

template <class Scalar, class Index>
void gram_major(const Compressed<Scalar, Index>& columns, std::span<const double> h,
                std::span<const std::int64_t> chosen, std::span<double> gram) {
  const std::size_t side = chosen.size();
  std::size_t stored = 0;
  for (const std::int64_t column : chosen)
    stored += columns.size_of(static_cast<std::size_t>(column));
  const std::size_t parts = part_count(side, stored * side / 2, h.size());
  std::vector<double> workspaces(h.size() * parts);
  GiveUp give_up;
  run_parts(even_splits(parts, parts), [&](Range, std::size_t part) {
    const auto dense = std::span(workspaces).subspan(part * h.size(), h.size());
    // Row a costs side - a dot products: giving rows to parts in turn balances the work.
    for (std::size_t a = part; a < side && !give_up.leaves(part); a += parts) {
      const auto own = static_cast<std::size_t>(chosen[a]);
      const auto values = columns.values_of(own);
      const auto indices = columns.indices_of(own);
      for (std::size_t k = 0; k < values.size(); ++k) {
        dense[indices[k]] = h[indices[k]] * static_cast<double>(values[k]);
      }
      for (std::size_t b = a; b < side; ++b) {
        const auto other = static_cast<std::size_t>(chosen[b]);
        gram[a * side + b] =
            sparse_dot<Scalar, Index>(columns.values_of(other), columns.indices_of(other), dense);
      }
      for (const Index index : indices) dense[index] = 0.0;
    }
  });
  give_up.throw_if_left();
  mirror_upper(gram, side);
}

#define MINIMAND_INSTANTIATE(Scalar, Index)                                                \
  template void gram_minor(const Compressed<Scalar, Index>&, std::span<const double>,      \
                           std::span<const std::int32_t>, std::size_t, std::span<double>); \
  template void gram_minor(const Compressed<Scalar, Index>&, std::span<const double>,      \
                           std::span<const std::int64_t>, std::size_t, std::span<double>); \
  template void gram_major(const Compressed<Scalar, Index>&, std::span<const double>,      \
                           std::span<const std::int64_t>, std::span<double>);
MINIMAND_FOR_EACH_COMPRESSED(MINIMAND_INSTANTIATE)

}  // namespace minimand
