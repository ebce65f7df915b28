#include "support/kept_factor.hpp"

#include <algorithm>
#include <cmath>

#include "common/lanes.hpp"

namespace minimand {
namespace {

constexpr std::size_t kTogether = 4;  // rows that join share every load of the factor; safeguard

// Shares of a column's own square: below the first (times the size of S) a pivot is taken for
// rounding, and the second is then added to it. Safeguards.
constexpr double kRounding = 2e-12;
constexpr double kCaution = 1e-8;

constexpr double kNear = 2.0;  // ratio of l2 up to which a factor is taken to help; a safeguard
constexpr std::size_t kFew =
    8;  // rotations of rows that cost as much as a row that joins; estimate

/// Solves rows[r] = rows[r] L^-T in place over the first `size` columns, for kTogether rows.
MINIMAND_INLINE void substitute(const double* lower, std::size_t room, std::size_t size,
                                double* const* rows) {
  std::size_t j = 0;
  for (; j + 2 <= size; j += 2) {
    const double* const one = lower + j * room;
    const double* const two = one + room;
    Lanes first[kTogether] = {}, second[kTogether] = {};
    std::size_t k = 0;
    for (; k + kLanes <= j; k += kLanes) {
      const Lanes left = load_lanes(one + k), right = load_lanes(two + k);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kTogether; ++r) {
        const Lanes row = load_lanes(rows[r] + k);
        first[r] += left * row;
        second[r] += right * row;
      }
    }
#pragma GCC unroll 4
    for (std::size_t r = 0; r < kTogether; ++r) {
      double* const row = rows[r];
      double sum = sum_lanes(first[r]), next = sum_lanes(second[r]);
      for (std::size_t i = k; i < j; ++i) {
        sum += one[i] * row[i];
        next += two[i] * row[i];
      }
      row[j] = (row[j] - sum) / one[j];
      row[j + 1] = (row[j + 1] - next - two[j] * row[j]) / two[j + 1];
    }
  }
  for (; j < size; ++j) {
    const double* const line = lower + j * room;
    for (std::size_t r = 0; r < kTogether; ++r) {
      rows[r][j] = (rows[r][j] - dot(line, rows[r], j)) / line[j];
    }
  }
}

/// Rotates one row over columns [begin, end); what is left of the removed column.
MINIMAND_INLINE double rotate(double* row, double rest, const double* cosines, const double* sines,
                              std::size_t begin, std::size_t end) {
  for (std::size_t k = begin; k < end; ++k) {
    const double value = row[k];
    row[k] = cosines[k] * value + sines[k] * rest;
    rest = cosines[k] * rest - sines[k] * value;
  }
  return rest;
}

MINIMAND_CLONES void substitute_rows(std::span<double> lower, std::size_t room, std::size_t size,
                                     std::span<double* const> rows) {
  substitute(lower.data(), room, size, rows.data());
}

/// Row `place` of the factor of `size` rows is taken out, and its column.
MINIMAND_CLONES void remove_row(std::span<double> lower, std::size_t room, std::size_t size,
                                std::size_t place, std::span<double> cosines,
                                std::span<double> sines) {
  double* const c = cosines.data();
  double* const s = sines.data();
  for (std::size_t i = place; i + 1 < size; i += kTogether) {
    const std::size_t count = size - 1 - i < kTogether ? size - 1 - i : kTogether;
    double* rows[kTogether];
    double rest[kTogether] = {};
    for (std::size_t r = 0; r < count; ++r) {
      const double* const from = lower.data() + (i + r + 1) * room;
      rows[r] = lower.data() + (i + r) * room;
      rest[r] = from[place];
      for (std::size_t k = 0; k < place; ++k) rows[r][k] = from[k];
      for (std::size_t k = place; k <= i + r; ++k) rows[r][k] = from[k + 1];
    }
    if (count == kTogether) {  // four chains of products at a time: each waits for its own last one
      double *row0 = rows[0], *row1 = rows[1], *row2 = rows[2], *row3 = rows[3];
      for (std::size_t k = place; k < i; ++k) {
        const double value0 = row0[k], value1 = row1[k], value2 = row2[k], value3 = row3[k];
        row0[k] = c[k] * value0 + s[k] * rest[0];
        row1[k] = c[k] * value1 + s[k] * rest[1];
        row2[k] = c[k] * value2 + s[k] * rest[2];
        row3[k] = c[k] * value3 + s[k] * rest[3];
        rest[0] = c[k] * rest[0] - s[k] * value0;
        rest[1] = c[k] * rest[1] - s[k] * value1;
        rest[2] = c[k] * rest[2] - s[k] * value2;
        rest[3] = c[k] * rest[3] - s[k] * value3;
      }
    } else {
      for (std::size_t r = 0; r < count; ++r) rest[r] = rotate(rows[r], rest[r], c, s, place, i);
    }
    for (std::size_t r = 0; r < count; ++r) {
      const double left = rotate(rows[r], rest[r], c, s, i, i + r);
      double& pivot = rows[r][i + r];
      const double length = std::sqrt(pivot * pivot + left * left);
      c[i + r] = pivot / length;
      s[i + r] = left / length;
      pivot = length;
    }
  }
}

MINIMAND_CLONES void solve_both(std::span<const double> lower, std::size_t room,
                                std::span<double> right) {
  const std::size_t size = right.size();
  double* __restrict x = right.data();
  for (std::size_t i = 0; i < size; ++i) {
    const double* const row = lower.data() + i * room;
    x[i] = (x[i] - dot(row, x, i)) / row[i];
  }
  for (std::size_t i = size; i-- > 0;) {
    const double* const row = lower.data() + i * room;
    const double value = x[i] / row[i];
    x[i] = value;
    for (std::size_t k = 0; k < i; ++k) x[k] -= value * row[k];
  }
}

}  // namespace

void KeptFactor::clear() {
  members_.clear();
  added_.clear();
}

void KeptFactor::follow(const GramView& gram, std::span<const double> l2,
                        std::span<const char> wanted) {
  if (!is_near(l2)) clear();
  drop(wanted);
  append(gram, l2, wanted);
}

bool KeptFactor::is_of(std::span<const double> l2) const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (added_[i] != l2[i]) return false;
  }
  return true;
}

bool KeptFactor::is_near(std::span<const double> l2) const {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const double was = added_[i], is = l2[members_[i]];
    if (was > kNear * is || is > kNear * was) return false;
  }
  return true;
}

void KeptFactor::drop(std::span<const char> wanted) {
  const auto leaves = [&](std::size_t column) { return wanted[column] == 0; };
  const auto first = std::find_if(members_.begin(), members_.end(), leaves);
  const auto gone = static_cast<std::size_t>(std::count_if(first, members_.end(), leaves));
  const auto begin = static_cast<std::size_t>(first - members_.begin());
  if (gone * kFew > members_.size() - begin) {  // cheaper to let the rest join again
    members_.resize(begin);
    added_.resize(begin);
    return;
  }
  for (std::size_t i = members_.size(); i-- > begin;) {
    if (!leaves(members_[i])) continue;
    remove_row(lower_, room_, members_.size(), i, cosines_, sines_);
    members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(i));
    added_.erase(added_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void KeptFactor::append(const GramView& gram, std::span<const double> l2,
                        std::span<const char> wanted) {
  std::vector<char> known(gram.count);
  for (const std::size_t column : members_) known[column] = 1;
  std::vector<std::size_t> joining;
  for (std::size_t j = 0; j < gram.count; ++j) {
    if (wanted[j] != 0 && known[j] == 0) joining.push_back(j);
  }
  reserve(members_.size() + joining.size() + kTogether);
  for (std::size_t begin = 0; begin < joining.size(); begin += kTogether) {
    const std::size_t size = members_.size();
    const std::size_t count = std::min(kTogether, joining.size() - begin);
    double* rows[kTogether];
    for (std::size_t r = 0; r < kTogether; ++r) {  // beyond the last one, rows of zeros
      rows[r] = lower_.data() + (size + r) * room_;
      const double* const from = gram.row(joining[begin + (r < count ? r : 0)]);
      for (std::size_t i = 0; i < size; ++i) rows[r][i] = r < count ? from[members_[i]] : 0.0;
    }
    substitute_rows(lower_, room_, size, std::span<double* const>(rows, kTogether));
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t column = joining[begin + r];
      const double* const from = gram.row(column);
      for (std::size_t q = 0; q < r; ++q) {
        const double product = dot(rows[r], rows[q], size + q);
        rows[r][size + q] = (from[joining[begin + q]] - product) / rows[q][size + q];
      }
      const double whole = from[column] + l2[column];
      double pivot = whole - dot(rows[r], rows[r], size + r);
      const double least = kRounding * static_cast<double>(size + kTogether) * whole;
      if (!(pivot > least)) pivot = std::max(pivot, 0.0) + kCaution * whole;
      rows[r][size + r] = std::sqrt(pivot);
      members_.push_back(column);
      added_.push_back(l2[column]);
    }
  }
}

void KeptFactor::reserve(std::size_t size) {
  if (size <= room_) return;
  const std::size_t room = std::max(size + size / 2, std::size_t{64});
  std::vector<double> larger(room * room);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    std::copy_n(lower_.data() + i * room_, i + 1, larger.data() + i * room);
  }
  lower_ = std::move(larger);
  room_ = room;
  cosines_.resize(room);
  sines_.resize(room);
}

void KeptFactor::solve(std::span<double> right) const { solve_both(lower_, room_, right); }

}  // namespace minimand
