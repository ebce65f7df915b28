#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "common/parallel.hpp"
#include "descent/centring.hpp"
#include "descent/sweeps.hpp"

namespace minimand {

/// Sweeps over columns that several threads share, each with a copy of q for its own columns.
///
/// Part p moves q by u_p and would lower the objective by at least D_p if it were alone; all of
/// them together lower it by at least sum D_p - c, c = sum over pairs of u_p' H^-1 u_r, with the
/// constant b minimised out. Where c takes more than half of the sum, the mean of the parts' models
/// is taken: by convexity it lowers the objective by at least the mean of D_p.
///
/// `Descent` has rows with `Copy`, `q_of` and `set_q`, and on_copy(rows, centring), which steps on
/// a copy.
template <class Descent>
class SweepsInParts {
 public:
  /// `sizes` are the costs of the columns.
  SweepsInParts(Descent& descent, std::span<const std::size_t> sizes, std::size_t parts)
      : descent_(descent),
        sizes_(sizes),
        everything_(sizes.size()),
        old_(sizes.size()),
        decreases_(parts),
        totals_(parts) {
    std::iota(everything_.begin(), everything_.end(), std::size_t{0});
    copies_.reserve(parts);
    for (std::size_t p = 0; p < parts; ++p) copies_.emplace_back(descent.rows);
  }

  bool all(double& decrease) {
    descent_.begin_full_sweep();
    decrease = some(everything_);
    return true;
  }

  double some(std::span<const std::size_t> chosen) {
    if (rivalries_ >= kMostRivalries) return one_by_one(descent_, 0).some(chosen);
    for (std::size_t k = 0; k < chosen.size(); ++k) old_[k] = descent_.w[chosen[k]];
    const double before = descent_.centring.gradient_total();
    std::fill(decreases_.begin(), decreases_.end(), 0.0);
    std::fill(totals_.begin(), totals_.end(), 0.0);
    run_parts(splits(chosen), [&](Range range, std::size_t part) {
      copies_[part].reset(descent_.rows);
      Centring centring = descent_.centring;
      auto own = descent_.on_copy(copies_[part].rows(), centring);
      double decrease = 0.0;
      for (std::size_t k = range.begin; k < range.end; ++k) decrease += own.step(chosen[k]);
      decreases_[part] = decrease;
      totals_[part] = centring.gradient_total() - before;
    });
    return join(chosen);
  }

 private:
  static constexpr int kMostRivalries = 2;  // of parts that hinder each other; safeguard
                                            // alone; safeguard

  /// Boundaries of ranges of nearly equal costs, as many as there are parts.
  std::vector<std::size_t> splits(std::span<const std::size_t> chosen) const {
    std::size_t total = 0;
    for (const std::size_t j : chosen) total += sizes_[j];
    const std::size_t parts = copies_.size();
    std::vector<std::size_t> found(parts + 1, chosen.size());
    found[0] = 0;
    std::size_t covered = 0, part = 1;
    for (std::size_t k = 0; k < chosen.size() && part < parts; ++k) {
      covered += sizes_[chosen[k]];
      if (covered * parts >= total * part) found[part++] = k + 1;
    }
    return found;
  }

  /// Takes all moves, or their mean; what is gained at least.
  double join(std::span<const std::size_t> chosen) {
    const std::size_t parts = copies_.size();
    const double gained = std::accumulate(decreases_.begin(), decreases_.end(), 0.0);
    const double rivalry = common_part();
    const bool hinder = !(rivalry <= 0.5 * gained);
    const double share = hinder ? 1.0 / static_cast<double>(parts) : 1.0;
    if (hinder) ++rivalries_;
    auto& rows = descent_.rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double q = rows.q_of(i);
      double change = 0.0;
      for (auto& copy : copies_) change += copy.rows().q_of(i) - q;
      rows.set_q(i, q + share * change);
    }
    const double total = std::accumulate(totals_.begin(), totals_.end(), 0.0);
    descent_.centring.add_to_total(share * total);
    if (!hinder) return gained - rivalry;
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      double& value = descent_.w[chosen[k]];
      value = old_[k] + share * (value - old_[k]);
    }
    return share * gained;
  }

  /// sum over pairs of parts of u_p' H^-1 u_r, less what the constant b takes of it.
  double common_part() {
    auto& rows = descent_.rows;
    double sum = 0.0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double weight = rows.weight_of(i);
      if (!(weight > 0.0)) continue;
      const double q = rows.q_of(i);
      double total = 0.0, squares = 0.0;
      for (auto& copy : copies_) {
        const double change = copy.rows().q_of(i) - q;
        total += change;
        squares += change * change;
      }
      sum += 0.5 * (total * total - squares) / weight;
    }
    if (!descent_.centring.present()) return sum;
    double total = 0.0, squares = 0.0;
    for (const double change : totals_) {
      total += change;
      squares += change * change;
    }
    return sum - 0.5 * (total * total - squares) / descent_.centring.weight_total();
  }

  using Copy = typename Descent::RowsCopy;

  Descent& descent_;
  std::span<const std::size_t> sizes_;
  std::vector<std::size_t> everything_;
  std::vector<double> old_, decreases_, totals_;
  std::vector<Copy> copies_;
  int rivalries_ = 0;
};

}  // namespace minimand
