#include "groups/newton.hpp"

#include <algorithm>
#include <cmath>

#include "common/lanes.hpp"
#include "groups/newton_vectors.hpp"
#include "scalar/functions.hpp"

namespace minimand {
namespace {

constexpr int kHalvings = 8;   // of a Newton step; safeguard
constexpr int kProducts = 60;  // of a Newton step; safeguard

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

/// Whether all numbers of a group are zero, and stay so in a Newton step.
bool rests(const GroupPenalties& penalties, std::size_t group) {
  if (penalties.norm[group] > 0.0) return true;
  const auto l1 = penalties.l1.subspan(penalties.begin(group), penalties.size_of(group));
  return std::ranges::all_of(l1, [](double bound) { return bound > 0.0; });
}

}  // namespace

bool GroupNewton::step(GroupQuadratic& loss, const GroupPenalties& penalties, GroupPoint point,
                       double share) {
  gather(loss, penalties, point);
  if (members_.empty()) return false;
  const std::size_t scores = penalties.scores;
  direction(loss, share);
  if (!go_along(loss, penalties, point)) return false;
  for (std::size_t m = 0; m < members_.size();) {
    const std::size_t from = members_[m].row * scores;
    Rows run{loss.rows_of(members_[m].group).first, 0};  // groups beside each other move at once
    do {
      const Member& member = members_[m];
      const std::size_t begin = penalties.begin(member.group), size = member.rows * scores;
      std::copy_n(target_.data() + member.row * scores, size, point.w.data() + begin);
      point.sizes[member.group] = squared_length(point.w.data() + begin, size);
      run.count += member.rows;
    } while (++m < members_.size() && members_[m].group == members_[m - 1].group + 1);
    loss.move(run, std::span<const double>(move_).subspan(from, run.count * scores));
  }
  return true;
}

void GroupNewton::gather(GroupQuadratic& loss, const GroupPenalties& penalties, GroupPoint point) {
  members_.clear();
  parts_.clear();
  std::size_t rows = 0, factors = 0;
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    if (point.sizes[g] == 0.0 && rests(penalties, g)) continue;
    const auto l2 = penalties.l2.subspan(penalties.begin(g), penalties.size_of(g));
    if (!(loss.steep(g) > 0.0) && std::ranges::all_of(l2, [](double x) { return x == 0.0; }))
      continue;
    const double norm = penalties.norm[g];
    const double bend = norm > 0.0 ? norm / std::sqrt(point.sizes[g]) : 0.0;
    const Rows part = loss.rows_of(g);
    members_.push_back({g, rows, part.count, bend, 0.0, factors});
    parts_.push_back(part);
    rows += part.count;
    factors += part.count * part.count;
  }
  const std::size_t size = rows * penalties.scores;
  for (auto* numbers : {&start_, &unit_, &radial_, &l2_, &right_, &step_, &residual_, &ready_,
                        &move_, &image_, &target_}) {
    numbers->resize(size);
  }
  held_.resize(size);
  factors_.resize(factors);
  for (Member& member : members_) describe(member, loss, penalties, point);
  any_held_ = std::ranges::any_of(held_, [](char held) { return held != 0; });
  loss.choose(parts_);
}

void GroupNewton::describe(Member& member, GroupQuadratic& loss, const GroupPenalties& penalties,
                           GroupPoint point) {
  const std::size_t scores = penalties.scores, size = member.rows * scores;
  const std::size_t from = penalties.begin(member.group), to = member.row * scores;
  const double length = std::sqrt(point.sizes[member.group]);
  double shift = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    const double value = point.w[from + i], l1 = penalties.l1[from + i];
    start_[to + i] = value;
    unit_[to + i] = length > 0.0 ? value / length : 0.0;
    l2_[to + i] = penalties.l2[from + i];
    held_[to + i] = l1 > 0.0 && value == 0.0;
    const double sign = static_cast<double>((value > 0.0) - (value < 0.0));
    const double slope = loss.slopes()[from + i] + l2_[to + i] * value + l1 * sign +
                         penalties.norm[member.group] * unit_[to + i];
    right_[to + i] = held_[to + i] ? 0.0 : -slope;
    shift += l2_[to + i];
  }
  shift /= static_cast<double>(std::max<std::size_t>(size, 1));
  const OwnMatrix own = loss.own(member.group);
  double* const factor = factors_.data() + member.factor;
  for (std::size_t i = 0; i < member.rows; ++i) {
    std::copy_n(own.row(i), member.rows, factor + i * member.rows);
    factor[i * member.rows + i] += member.bend + shift;
  }
  factorise(factor, member.rows);
  std::copy_n(unit_.data() + to, size, radial_.data() + to);
  for (std::size_t c = 0; c < scores; ++c) {
    solve_with(factor, member.rows, radial_.data() + to + c, scores);
  }
  member.along = dot(radial_.data() + to, unit_.data() + to, size);
}

/// image = (G + l2 + norm/|w| (I - unit unit')) d, zero for numbers that are held.
void GroupNewton::product(GroupQuadratic& loss, std::span<const double> d,
                          std::span<double> image) const {
  loss.multiply(d, image);
  const std::size_t scores = loss.scores();
  for (const Member& member : members_) {
    const std::size_t at = member.row * scores, size = member.rows * scores;
    add_bend(d.data() + at, unit_.data() + at, l2_.data() + at, member.bend, size,
             image.data() + at);
  }
  hold(image);
}

/// Solves with the blocks of single groups: K - bend unit unit', by the formula of a rank-one
/// change.
void GroupNewton::precondition(std::span<const double> r, std::span<double> x,
                               std::size_t scores) const {
  std::copy(r.begin(), r.end(), x.begin());
  for (const Member& member : members_) {
    const std::size_t at = member.row * scores, size = member.rows * scores;
    const double* const factor = factors_.data() + member.factor;
    const double left = 1.0 - member.bend * member.along;
    if (member.rows == 1) {
      const double inverse = 1.0 / (factor[0] * factor[0]);
      const double more = left > 1e-12 ? member.bend * inverse / left : 0.0;  // as below
      divide(r.data() + at, unit_.data() + at, inverse, more, size, x.data() + at);
      continue;
    }
    for (std::size_t c = 0; c < scores; ++c)
      solve_with(factor, member.rows, x.data() + at + c, scores);
    if (member.bend > 0.0 && left > 1e-12) {  // share of one: rounding; safeguard
      const double more = member.bend * dot(unit_.data() + at, x.data() + at, size) / left;
      for (std::size_t i = 0; i < size; ++i) x[at + i] += more * radial_[at + i];
    }
  }
  hold(x);
}

void GroupNewton::hold(std::span<double> x) const {
  if (!any_held_) return;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (held_[i]) x[i] = 0.0;
  }
}

void GroupNewton::direction(GroupQuadratic& loss, double share) {
  const std::size_t scores = loss.scores();
  std::ranges::fill(step_, 0.0);
  residual_ = right_;
  precondition(residual_, ready_, scores);
  move_ = ready_;
  double energy = inner_product(residual_, ready_);
  const double enough = share * energy;
  for (int count = 0; count < kProducts && energy > enough; ++count) {
    product(loss, move_, image_);
    const double bend = inner_product(move_, image_);
    if (!(bend > 0.0)) break;
    const double length = energy / bend;
    advance(step_, residual_, move_, image_, length);
    precondition(residual_, ready_, scores);
    const double next = inner_product(residual_, ready_);
    turn(move_, ready_, next / energy);
    energy = next;
  }
}

/// Whether the step takes a group past zero, where its norm has a corner: the group becomes zero.
bool GroupNewton::passes_zero(const Member& member, double share, std::size_t scores) const {
  if (!(member.bend > 0.0)) return false;
  const std::size_t at = member.row * scores, size = member.rows * scores;
  const double along = dot(unit_.data() + at, step_.data() + at, size);
  return dot(unit_.data() + at, start_.data() + at, size) + share * along <= 0.0;
}

/// Goes along the step as far as the objective falls; numbers with an l1 part that would change
/// their sign become zero, and so do groups that would pass zero. The numbers go to `target_`, by
/// `move_`.
bool GroupNewton::go_along(GroupQuadratic& loss, const GroupPenalties& penalties,
                           GroupPoint point) {
  const std::size_t scores = penalties.scores;
  double share = 1.0;
  for (int trial = 0; trial < kHalvings; ++trial, share *= 0.5) {
    double change = 0.0;
    bool finite = true;
    for (const Member& member : members_) {
      const std::size_t from = penalties.begin(member.group), to = member.row * scores;
      const bool vanishes = passes_zero(member, share, scores);
      for (std::size_t i = 0; i < member.rows * scores; ++i) {
        const double value = start_[to + i];
        double aim = value + share * step_[to + i];
        finite &= std::isfinite(aim);
        if (vanishes || (penalties.l1[from + i] > 0.0 && value * aim <= 0.0)) aim = 0.0;
        target_[to + i] = aim;
        move_[to + i] = aim - value;
        change += move_[to + i] * loss.slopes()[from + i];
      }
      change += group_charge(penalties, member.group, target_.data() + to) -
                group_charge(penalties, member.group, point.w.data() + from);
    }
    if (!finite) return false;
    loss.multiply(move_, image_);
    if (change + 0.5 * inner_product(move_, image_) <= 0.0) return true;
  }
  return false;
}

}  // namespace minimand
