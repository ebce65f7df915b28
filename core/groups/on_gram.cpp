#include "groups/on_gram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/lanes.hpp"
#include "common/watch.hpp"

namespace minimand {
namespace {

// All of these are safeguards.
constexpr int kInner = 8;            // steps of one group on its own matrix
constexpr double kInnerLeft = 1e-4;  // share of its squared move, at which a group has settled
constexpr int kSweeps = 2;           // sweeps over nonzero groups after each over all
constexpr int kHalvings = 8;         // of a Newton step
constexpr int kFruitless = 3;        // rounds without a Newton step or a lower gap

/// The largest eigenvalue is at most the largest row sum, and at most the Frobenius norm.
double eigenvalue_bound(const GramView& gram, std::size_t first, std::size_t rows) {
  double most = 0.0, squares = 0.0;
  for (std::size_t i = first; i < first + rows; ++i) {
    double sum = 0.0;
    for (std::size_t j = first; j < first + rows; ++j) {
      sum += std::fabs(gram.row(i)[j]);
      squares += gram.row(i)[j] * gram.row(i)[j];
    }
    most = std::max(most, sum);
  }
  return std::min(most, std::sqrt(squares));
}

MINIMAND_INLINE void add_rows(const GramView& gram, std::size_t first, std::size_t rows,
                              const double* delta, std::size_t scores, double* gradient) {
  const std::size_t n = gram.count;
  if (scores == 1) {
    double* __restrict to = gradient;
    std::size_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      const double* const row0 = gram.row(first + r);
      const double* const row1 = gram.row(first + r + 1);
      const double* const row2 = gram.row(first + r + 2);
      const double* const row3 = gram.row(first + r + 3);
      const double v0 = delta[r], v1 = delta[r + 1], v2 = delta[r + 2], v3 = delta[r + 3];
      for (std::size_t k = 0; k < n; ++k) {
        to[k] += (v0 * row0[k] + v1 * row1[k]) + (v2 * row2[k] + v3 * row3[k]);
      }
    }
    for (; r < rows; ++r) {
      if (delta[r] != 0.0) add_row(gram, first + r, delta[r], {gradient, n});
    }
    return;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const double* const row = gram.row(first + r);
    const double* __restrict own = delta + r * scores;
    for (std::size_t k = 0; k < n; ++k) {
      const double value = row[k];
      double* __restrict to = gradient + k * scores;
      for (std::size_t c = 0; c < scores; ++c) to[c] += value * own[c];
    }
  }
}

MINIMAND_CLONES void add_block_kernel(const GramView& gram, std::size_t first, std::size_t rows,
                                      const double* delta, std::size_t scores, double* gradient) {
  add_rows(gram, first, rows, delta, scores, gradient);
}

/// Steps over single groups.
struct GroupDescent {
  GramView gram;
  const GroupPenalties& penalties;
  std::span<double> gradient;
  std::span<double> w;
  std::span<const double> steep;
  std::span<const double> most_l2;
  std::span<double> sizes;  // squared lengths of the groups
  std::vector<double>* room;

  MINIMAND_INLINE double step(std::size_t g) {
    const std::size_t scores = penalties.scores, rows = penalties.rows_of(g);
    const std::size_t size = penalties.size_of(g), begin = penalties.begin(g);
    double* const old = w.data() + begin;
    const double* const slope = gradient.data() + begin;
    const double* const l1 = penalties.l1.data() + begin;
    const double* const l2 = penalties.l2.data() + begin;
    const double norm = penalties.norm.data()[g];
    double* const x = room[0].data();
    double* const image = room[1].data();  // the group's matrix times x - old
    double* const u = room[2].data();
    double* const bend = room[3].data();
    const double limit = steep.data()[g] + most_l2.data()[g];
    if (sizes.data()[g] == 0.0) {  // the usual case: zero stays zero
      double square = 0.0;
      for (std::size_t i = 0; i < size; ++i) {
        const double left = soft(slope[i], l1[i]);
        square += left * left;
      }
      if (square <= norm * norm) return 0.0;
    }
    if (!(limit > 0.0)) return vanish(g, old, size, norm, l1);
    for (std::size_t i = 0; i < size; ++i) {
      x[i] = old[i];
      image[i] = 0.0;
      bend[i] = limit;
    }
    for (int inner = 0; inner < kInner; ++inner) {
      for (std::size_t i = 0; i < size; ++i)
        u[i] = limit * x[i] - (slope[i] + image[i] + l2[i] * x[i]);
      double change = 0.0, whole = 0.0;
      double* const next = u;  // in place: u[i] is read before x[i] is written
      block_minimiser(u, bend, l1, norm, size, next);
      for (std::size_t i = 0; i < size; ++i) {
        change += (next[i] - x[i]) * (next[i] - x[i]);
        whole += (next[i] - old[i]) * (next[i] - old[i]);
        x[i] = next[i];
      }
      const std::size_t first = penalties.first_row(g);
      for (std::size_t i = 0; i < rows; ++i) {
        const double* const row = gram.row(first + i) + first;
        for (std::size_t c = 0; c < scores; ++c) image[i * scores + c] = 0.0;
        for (std::size_t j = 0; j < rows; ++j) {
          for (std::size_t c = 0; c < scores; ++c) {
            image[i * scores + c] += row[j] * (x[j * scores + c] - old[j * scores + c]);
          }
        }
      }
      if (!(change > kInnerLeft * whole)) break;
    }
    double decrease = 0.0, square = 0.0;
    bool moved = false;
    for (std::size_t i = 0; i < size; ++i) {
      const double delta = x[i] - old[i];
      moved |= delta != 0.0;
      decrease += 0.5 * delta * (image[i] + l2[i] * delta);
      square += x[i] * x[i];
      old[i] = x[i];
      u[i] = delta;
    }
    if (!moved) return 0.0;
    sizes.data()[g] = square;
    add_rows(gram, penalties.first_row(g), rows, u, scores, gradient.data());
    return decrease;
  }

  /// The loss does not depend on this group: with a penalty its minimum is at zero.
  double vanish(std::size_t g, double* old, std::size_t size, double norm, const double* l1) {
    double square = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      if (norm > 0.0 || l1[i] > 0.0) old[i] = 0.0;
      square += old[i] * old[i];
    }
    sizes.data()[g] = square;
    return 0.0;
  }
};

/// One sweep over all groups, and some over those that are not zero; what the first one gained.
MINIMAND_CLONES double sweep(GroupDescent& descent, std::span<std::size_t> chosen) {
  const std::size_t count = descent.penalties.count();
  double gained = 0.0;
  for (std::size_t g = 0; g < count; ++g) gained += descent.step(g);
  std::size_t active = 0;
  for (std::size_t g = 0; g < count; ++g) {
    if (descent.sizes.data()[g] > 0.0) chosen.data()[active++] = g;
  }
  for (int more = 0; more < kSweeps; ++more) {
    for (std::size_t k = 0; k < active; ++k) descent.step(chosen.data()[k]);
  }
  return gained;
}

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

void add_block(const GramView& gram, std::size_t first, std::size_t rows,
               std::span<const double> delta, std::size_t scores, std::span<double> gradient) {
  add_block_kernel(gram, first, rows, delta.data(), scores, gradient.data());
}

void GroupsOnGram::describe(const GroupModel& model, const GroupPenalties& penalties,
                            std::span<const double> w) {
  const std::size_t count = penalties.count(), scores = penalties.scores;
  gradient_.assign(model.q.begin(), model.q.end());
  steep_.resize(count);
  most_l2_.resize(count);
  sizes_.resize(count);
  all_.resize(count);
  std::size_t largest = 0;
  for (std::size_t g = 0; g < count; ++g) {
    const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
    largest = std::max(largest, size);
    steep_[g] = eigenvalue_bound(model.gram, penalties.first_row(g), penalties.rows_of(g));
    const auto l2 = penalties.l2.subspan(begin, size);
    most_l2_[g] = l2.empty() ? 0.0 : *std::max_element(l2.begin(), l2.end());
    sizes_[g] = squared_length(w.data() + begin, size);
    if (sizes_[g] > 0.0) {
      add_block(model.gram, penalties.first_row(g), penalties.rows_of(g), w.subspan(begin, size),
                scores, gradient_);
    }
  }
  for (auto& room : room_) room.resize(largest);
}

/// An estimate of the duality gap: slopes beyond the norms shrink the dual point, which costs that
/// share of the penalty and its square of the mean of squares; a slope that does not balance the
/// penalty of a group costs its product with the coefficients. Squares count as part of the slope.
double GroupsOnGram::shortfall(const GroupModel& model, const GroupPenalties& penalties,
                               std::span<const double> w) const {
  double excess = 0.0, charge = 0.0, unbalanced = 0.0, mean_square = model.square;
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
    const double norm = penalties.norm[g], length = std::sqrt(sizes_[g]);
    double square = 0.0, along = 0.0, left = 0.0;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const double l1 = penalties.l1[i], value = w[i];
      const double rest = gradient_[i] + penalties.l2[i] * value;
      const double beyond = soft(rest, l1);
      square += beyond * beyond;
      mean_square += value * (gradient_[i] + model.q[i]);
      along += value * rest + l1 * std::fabs(value);
      if (norm > 0.0) continue;
      if (l1 > 0.0) {
        excess = std::max(excess, std::fabs(rest) / l1 - 1.0);
      } else if (penalties.l2[i] > 0.0) {
        left += 0.5 * rest * rest / penalties.l2[i];
      } else if (steep_[g] > 0.0) {
        left += rest * rest / steep_[g];
      }
    }
    charge += group_charge(penalties, g, w.data() + begin);
    if (norm > 0.0) excess = std::max(excess, std::sqrt(square) / norm - 1.0);
    unbalanced += std::fabs(along + norm * length) + left;
  }
  const double cut = excess / (1.0 + excess);  // of the dual point
  return cut * charge + 0.5 * cut * cut * std::max(mean_square, 0.0) + unbalanced;
}

bool GroupsOnGram::minimise(const GroupModel& model, const GroupPenalties& penalties,
                            std::span<double> w, GroupGoal goal) {
  describe(model, penalties, w);
  int fruitless = 0;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t round = 0;; ++round) {
    double gap = shortfall(model, penalties, w);
    if (gap <= goal.gap) return true;
    if (round == goal.rounds || stopping()) return false;
    fruitless = gap < 0.9 * best ? 0 : fruitless + 1;
    best = std::min(best, gap);
    if (fruitless > kFruitless && round > 10) return false;
    GroupDescent descent{model.gram, penalties, gradient_, w, steep_, most_l2_, sizes_, room_};
    const double gained = sweep(descent, all_);
    if (!(gained >= 0.0)) return false;  // not a number
    gap = shortfall(model, penalties, w);
    if (gap <= goal.gap) return true;
    // The gap is proportional to the slopes, the energy of a step to their squares. The limits were
    // measured on paths of 1000x2500 in groups of ten and 300x2000 with ten scores: a tenth of both
    // takes a third longer.
    const double wanted = goal.gap / gap;
    newton(model, penalties, w, std::clamp(wanted * wanted, 1e-6, 1e-2));
  }
}

/// One Newton step on the numbers that are not zero, by conjugate gradients; whether w moved.
bool GroupsOnGram::newton(const GroupModel& model, const GroupPenalties& penalties,
                          std::span<double> w, double share) {
  gather(model, penalties, w);
  if (rows_.empty()) return false;
  const std::size_t scores = penalties.scores;
  direction(scores, share);
  if (!go_along(penalties, w)) return false;
  for (const Member& member : members_) {
    const std::size_t begin = penalties.begin(member.group), size = penalties.size_of(member.group);
    const auto moved = std::span<const double>(move_).subspan(member.row * scores, size);
    for (std::size_t i = 0; i < size; ++i) w[begin + i] = target_[member.row * scores + i];
    sizes_[member.group] = squared_length(w.data() + begin, size);
    add_block(model.gram, penalties.first_row(member.group), member.rows, moved, scores, gradient_);
  }
  return true;
}

void GroupsOnGram::gather(const GroupModel& model, const GroupPenalties& penalties,
                          std::span<const double> w) {
  const std::size_t scores = penalties.scores;
  members_.clear();
  rows_.clear();
  factors_.clear();
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    if (!(steep_[g] + most_l2_[g] > 0.0)) continue;
    if (sizes_[g] == 0.0 && penalties.norm[g] > 0.0) continue;
    const double length = std::sqrt(sizes_[g]);
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
    const double* const from = model.gram.row(rows_[i]);
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
    const double length = std::sqrt(sizes_[member.group]);
    double shift = 0.0;
    for (std::size_t i = 0; i < member.rows * scores; ++i) {
      const double value = w[from + i], l1 = penalties.l1[from + i];
      start_[to + i] = value;
      unit_[to + i] = length > 0.0 ? value / length : 0.0;
      l2_[to + i] = penalties.l2[from + i];
      held_[to + i] = l1 > 0.0 && value == 0.0;
      const double sign = static_cast<double>((value > 0.0) - (value < 0.0));
      const double slope = gradient_[from + i] + l2_[to + i] * value + l1 * sign +
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
void GroupsOnGram::product(std::span<const double> d, std::span<double> image,
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
void GroupsOnGram::precondition(std::span<const double> r, std::span<double> x,
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

void GroupsOnGram::direction(std::size_t scores, double share) {
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
bool GroupsOnGram::go_along(const GroupPenalties& penalties, std::span<double> w) {
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
        change += move_[to + i] * gradient_[from + i];
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
