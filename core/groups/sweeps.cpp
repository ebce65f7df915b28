#include "groups/sweeps.hpp"

#include <algorithm>
#include <cmath>

namespace minimand {
namespace {

// All of these are safeguards.
constexpr int kInner = 8;            // steps of one group on its own matrix
constexpr double kInnerLeft = 1e-4;  // share of its squared move, at which a group has settled
constexpr int kSweeps = 2;           // sweeps over nonzero groups after each over all

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
  GroupFacts& facts;
  std::span<double> w;
  std::vector<double>* room;

  MINIMAND_INLINE double step(std::size_t g) {
    const std::size_t scores = penalties.scores, rows = penalties.rows_of(g);
    const std::size_t size = penalties.size_of(g), begin = penalties.begin(g);
    double* const old = w.data() + begin;
    const double* const slope = facts.gradient.data() + begin;
    const double* const l1 = penalties.l1.data() + begin;
    const double* const l2 = penalties.l2.data() + begin;
    const double norm = penalties.norm.data()[g];
    double* const x = room[0].data();
    double* const image = room[1].data();  // the group's matrix times x - old
    double* const u = room[2].data();
    double* const bend = room[3].data();
    const double limit = facts.steep.data()[g] + facts.most_l2.data()[g];
    if (facts.sizes.data()[g] == 0.0) {  // the usual case: zero stays zero
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
    facts.sizes.data()[g] = square;
    add_rows(gram, penalties.first_row(g), rows, u, scores, facts.gradient.data());
    return decrease;
  }

  /// The loss does not depend on this group: with a penalty its minimum is at zero.
  double vanish(std::size_t g, double* old, std::size_t size, double norm, const double* l1) {
    double square = 0.0;
    for (std::size_t i = 0; i < size; ++i) {
      if (norm > 0.0 || l1[i] > 0.0) old[i] = 0.0;
      square += old[i] * old[i];
    }
    facts.sizes.data()[g] = square;
    return 0.0;
  }
};

MINIMAND_CLONES double sweep_kernel(GroupDescent& descent, std::span<std::size_t> chosen) {
  const std::size_t count = descent.penalties.count();
  double gained = 0.0;
  for (std::size_t g = 0; g < count; ++g) gained += descent.step(g);
  std::size_t active = 0;
  for (std::size_t g = 0; g < count; ++g) {
    if (descent.facts.sizes.data()[g] > 0.0) chosen.data()[active++] = g;
  }
  for (int more = 0; more < kSweeps; ++more) {
    for (std::size_t k = 0; k < active; ++k) descent.step(chosen.data()[k]);
  }
  return gained;
}

}  // namespace

void add_block(const GramView& gram, std::size_t first, std::size_t rows,
               std::span<const double> delta, std::size_t scores, std::span<double> gradient) {
  add_block_kernel(gram, first, rows, delta.data(), scores, gradient.data());
}

void GroupFacts::describe(const GroupModel& model, const GroupPenalties& penalties,
                          std::span<const double> w) {
  const std::size_t count = penalties.count(), scores = penalties.scores;
  gradient.assign(model.q.begin(), model.q.end());
  steep.resize(count);
  most_l2.resize(count);
  sizes.resize(count);
  for (std::size_t g = 0; g < count; ++g) {
    const std::size_t begin = penalties.begin(g), size = penalties.size_of(g);
    steep[g] = eigenvalue_bound(model.gram, penalties.first_row(g), penalties.rows_of(g));
    const auto l2 = penalties.l2.subspan(begin, size);
    most_l2[g] = l2.empty() ? 0.0 : *std::max_element(l2.begin(), l2.end());
    sizes[g] = squared_length(w.data() + begin, size);
    if (sizes[g] > 0.0) {
      add_block(model.gram, penalties.first_row(g), penalties.rows_of(g), w.subspan(begin, size),
                scores, gradient);
    }
  }
}

double GroupSweeps::sweep(const GramView& gram, const GroupPenalties& penalties, GroupFacts& facts,
                          std::span<double> w) {
  std::size_t largest = 0;
  for (std::size_t g = 0; g < penalties.count(); ++g) {
    largest = std::max(largest, penalties.size_of(g));
  }
  for (auto& room : room_) room.resize(largest);
  chosen_.resize(penalties.count());
  GroupDescent descent{gram, penalties, facts, w, room_};
  return sweep_kernel(descent, chosen_);
}

}  // namespace minimand
