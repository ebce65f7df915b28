#include "groups/newton.hpp"

#include <algorithm>
#include <cmath>

#include "common/lanes.hpp"

namespace minimand {
namespace {

constexpr int kHalvings = 8;  // of a Newton step; safeguard

MINIMAND_CLONES void multiply(std::span<const double> matrix, std::size_t rows,
                              std::span<const double> d, std::size_t scores,
                              std::span<double> image) {
  if (scores == 1) {
    for (std::size_t i = 0; i < rows; ++i) {
      image.data()[i] = dot(matrix.data() + i * rows, d.data(), rows);
    }
    return;
  }
  for (std::size_t i = 0; i < rows; ++i) {
    double* __restrict to = image.data() + i * scores;
    for (std::size_t c = 0; c < scores; ++c) to[c] = 0.0;
    for (std::size_t j = 0; j < rows; ++j) {
      const double value = matrix.data()[i * rows + j];
      const double* __restrict from = d.data() + j * scores;
      for (std::size_t c = 0; c < scores; ++c) to[c] += value * from[c];
    }
  }
}

double inner_product(std::span<const double> a, std::span<const double> b) {
  return dot(a.data(), b.data(), a.size());
}

/// Cholesky factor of a small matrix in place, row by row; a pivot that vanishes is made larger.
void factorise(double* matrix, std::size_t size) {
  constexpr double kCaution = 1e-12;  // share of the largest diagonal; safeguard
  double most = 0.0;
  for (std::size_t i = 0; i < size; ++i) most = std::max(most, matrix[i * size + i]);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * size + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * size + k] * matrix[j * size + k];
      if (i > j) {
        matrix[i * size + j] = sum / matrix[j * size + j];
      } else {
        matrix[i * size + i] = std::sqrt(std::max(sum, kCaution * most + 1e-300));
      }
    }
  }
}

/// Solves with that factor in place, for numbers `stride` apart.
void solve_with(const double* factor, std::size_t size, double* x, std::size_t stride) {
  for (std::size_t i = 0; i < size; ++i) {
    double sum = x[i * stride];
    for (std::size_t k = 0; k < i; ++k) sum -= factor[i * size + k] * x[k * stride];
    x[i * stride] = sum / factor[i * size + i];
  }
  for (std::size_t i = size; i-- > 0;) {
    double sum = x[i * stride];
    for (std::size_t k = i + 1; k < size; ++k) sum -= factor[k * size + i] * x[k * stride];
    x[i * stride] = sum / factor[i * size + i];
  }
}

}  // namespace

bool GroupNewton::step(const GramView& gram, const GroupPenalties& penalties, GroupFacts& facts,
                       std::span<double> w, double share) {
  gather(gram, penalties, facts, w);
  if (rows_.empty()) return false;
  const std::size_t scores = penalties.scores;
  direction(scores, share);
  if (!go_along(penalties, facts, w)) return false;
  for (const Member& member : members_) {
    const std::size_t begin = penalties.begin(member.group), size = penalties.size_of(member.group);
    const auto moved = std::span<const double>(move_).subspan(member.row * scores, size);
    for (std::size_t i = 0; i < size; ++i) w[begin + i] = target_[member.row * scores + i];
    facts.sizes[member.group] = squared_length(w.data() + begin, size);
    add_block(gram, penalties.first_row(member.group), member.rows, moved, scores, facts.gradient);
  }
  return true;
}

void GroupNewton::gather(const GramView& gram, const GroupPenalties& penalties,
                         const GroupFacts& facts, std::span<const double> w) {
  const std::size_t scores = penalties.scores;
  members_.clear();
  rows_.clear();
  factors_.clear();
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    if (!(facts.steep[g] + facts.most_l2[g] > 0.0)) continue;
    if (facts.sizes[g] == 0.0 && penalties.norm[g] > 0.0) continue;
    const double length = std::sqrt(facts.sizes[g]);
    const double bend = penalties.norm[g] > 0.0 ? penalties.norm[g] / length : 0.0;
    members_.push_back({g, rows_.size(), penalties.rows_of(g), bend, 0.0, factors_.size()});
    for (std::size_t r = 0; r < penalties.rows_of(g); ++r) {
      rows_.push_back(penalties.first_row(g) + r);
    }
    factors_.resize(factors_.size() + penalties.rows_of(g) * penalties.rows_of(g));
  }
  const std::size_t size = rows_.size();
  matrix_.resize(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    const double* const from = gram.row(rows_[i]);
    for (const Member& member : members_) {
      std::copy_n(from + rows_[member.row], member.rows, matrix_.data() + i * size + member.row);
    }
  }
  for (auto* numbers : {&start_, &unit_, &radial_, &l2_, &right_, &step_, &residual_, &ready_,
                        &move_, &image_, &target_}) {
    numbers->resize(size * scores);
  }
  held_.resize(size * scores);
  for (Member& member : members_) {
    const std::size_t from = penalties.begin(member.group), to = member.row * scores;
    const double length = std::sqrt(facts.sizes[member.group]);
    double shift = 0.0;
    for (std::size_t i = 0; i < member.rows * scores; ++i) {
      const double value = w[from + i], l1 = penalties.l1[from + i];
      start_[to + i] = value;
      unit_[to + i] = length > 0.0 ? value / length : 0.0;
      l2_[to + i] = penalties.l2[from + i];
      held_[to + i] = l1 > 0.0 && value == 0.0;
      const double sign = static_cast<double>((value > 0.0) - (value < 0.0));
      const double slope = facts.gradient[from + i] + l2_[to + i] * value + l1 * sign +
                           penalties.norm[member.group] * unit_[to + i];
      right_[to + i] = held_[to + i] ? 0.0 : -slope;
      shift += l2_[to + i];
    }
    shift = shift / static_cast<double>(std::max<std::size_t>(member.rows * scores, 1));
    double* const factor = factors_.data() + member.factor;
    for (std::size_t i = 0; i < member.rows; ++i) {
      for (std::size_t j = 0; j < member.rows; ++j) {
        factor[i * member.rows + j] = matrix_[(member.row + i) * size + member.row + j];
      }
      factor[i * member.rows + i] += member.bend + shift;
    }
    factorise(factor, member.rows);
    for (std::size_t i = 0; i < member.rows * scores; ++i) radial_[to + i] = unit_[to + i];
    for (std::size_t c = 0; c < scores; ++c) {
      solve_with(factor, member.rows, radial_.data() + to + c, scores);
    }
    member.along = dot(radial_.data() + to, unit_.data() + to, member.rows * scores);
  }
}

/// image = (G + l2 + norm/|w| (I - unit unit')) d, zero for numbers that are held.
void GroupNewton::product(std::span<const double> d, std::span<double> image,
                          std::size_t scores) const {
  multiply(matrix_, rows_.size(), d, scores, image);
  for (const Member& member : members_) {
    const std::size_t at = member.row * scores, size = member.rows * scores;
    const double radial = dot(unit_.data() + at, d.data() + at, size);
    for (std::size_t i = at; i < at + size; ++i) {
      image[i] += l2_[i] * d[i] + member.bend * (d[i] - radial * unit_[i]);
      if (held_[i]) image[i] = 0.0;
    }
  }
}

/// Solves with the blocks of single groups: K - bend unit unit', by the formula of a rank-one
/// change.
void GroupNewton::precondition(std::span<const double> r, std::span<double> x,
                               std::size_t scores) const {
  std::copy(r.begin(), r.end(), x.begin());
  for (const Member& member : members_) {
    const std::size_t at = member.row * scores, size = member.rows * scores;
    const double* const factor = factors_.data() + member.factor;
    for (std::size_t c = 0; c < scores; ++c)
      solve_with(factor, member.rows, x.data() + at + c, scores);
    const double left = 1.0 - member.bend * member.along;
    if (member.bend > 0.0 && left > 1e-12) {  // share of one: rounding; safeguard
      const double more = member.bend * dot(unit_.data() + at, x.data() + at, size) / left;
      for (std::size_t i = 0; i < size; ++i) x[at + i] += more * radial_[at + i];
    }
    for (std::size_t i = at; i < at + size; ++i) {
      if (held_[i]) x[i] = 0.0;
    }
  }
}

void GroupNewton::direction(std::size_t scores, double share) {
  constexpr int kProducts = 60;  // safeguard
  std::fill(step_.begin(), step_.end(), 0.0);
  residual_ = right_;
  precondition(residual_, ready_, scores);
  move_ = ready_;
  double energy = inner_product(residual_, ready_);
  const double enough = share * energy;
  for (int count = 0; count < kProducts && energy > enough; ++count) {
    product(move_, image_, scores);
    const double bend = inner_product(move_, image_);
    if (!(bend > 0.0)) break;
    const double length = energy / bend;
    for (std::size_t i = 0; i < step_.size(); ++i) {
      step_[i] += length * move_[i];
      residual_[i] -= length * image_[i];
    }
    precondition(residual_, ready_, scores);
    const double next = inner_product(residual_, ready_);
    for (std::size_t i = 0; i < step_.size(); ++i) move_[i] = ready_[i] + next / energy * move_[i];
    energy = next;
  }
}

/// Goes along the step as far as the objective falls; numbers with an l1 part that would change
/// their sign become zero. The numbers go to `target_`, by `move_`.
bool GroupNewton::go_along(const GroupPenalties& penalties, const GroupFacts& facts,
                           std::span<const double> w) {
  const std::size_t scores = penalties.scores;
  double share = 1.0;
  for (int trial = 0; trial < kHalvings; ++trial, share *= 0.5) {
    double change = 0.0;
    bool finite = true;
    for (const Member& member : members_) {
      const std::size_t from = penalties.begin(member.group), to = member.row * scores;
      for (std::size_t i = 0; i < member.rows * scores; ++i) {
        const double value = start_[to + i];
        double aim = value + share * step_[to + i];
        finite &= std::isfinite(aim);
        if (penalties.l1[from + i] > 0.0 && value * aim <= 0.0) aim = 0.0;
        target_[to + i] = aim;
        move_[to + i] = aim - value;
        change += move_[to + i] * facts.gradient[from + i];
      }
      change += group_charge(penalties, member.group, target_.data() + to) -
                group_charge(penalties, member.group, w.data() + from);
    }
    if (!finite) return false;
    multiply(matrix_, rows_.size(), move_, scores, image_);
    if (change + 0.5 * inner_product(move_, image_) <= 0.0) return true;
  }
  return false;
}

}  // namespace minimand
