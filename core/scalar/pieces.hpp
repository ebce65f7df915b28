#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "common/targets.hpp"

namespace minimand {

/// The end of a proximal step, and the slope of psi there.
struct SlopeAt {
  double at;
  double slope;
};

/// The step of one dual variable: the new t of its row, its new value, and the Fenchel-Young term
/// of the old value, or an estimate of it.
struct DualStep {
  double at;
  double slope;
  double young;
};

/// A convex function psi of one number, linear or quadratic between its knots.
///
/// Piece k lies left of knot k; the last one lies right of all. `anchor(k)` is the left end of
/// piece k, and the first knot for the first piece; `slopes[k]` is the slope there, seen from
/// inside the piece. `left[k]` is the slope just left of knot k, `values[k]` is psi(knot k).
struct Pieces {
  /// How many threads may share a sweep: two where psi is curved unless it is least, since they
  /// need at most half as many sweeps more (measured on texts). With other straight pieces they
  /// would need many more, because rows would reach the ends of their range of slopes too early.
  std::size_t most_threads() const {
    for (std::size_t k = 0; k < slopes.size(); ++k) {
      if (curvatures[k] == 0.0 && slopes[k] != 0.0) return 1;
    }
    return 2;
  }

  /// Parts of a sweep after each of which the gap is checked: one, the whole sweep.
  static constexpr int kParts = 1;  // safeguard

  std::span<const double> knots;
  std::span<const double> slopes;
  std::span<const double> curvatures;
  std::span<const double> left;
  std::span<const double> values;

  MINIMAND_INLINE std::size_t count() const { return knots.size(); }
  MINIMAND_INLINE std::size_t anchor(std::size_t k) const { return k == 0 ? 0 : k - 1; }

  /// The piece that t lies in; a knot belongs to the piece on its right.
  MINIMAND_INLINE std::size_t piece_of(double t) const {
    std::size_t k = 0;
    while (k < count() && t >= knots.data()[k]) ++k;
    return k;
  }

  MINIMAND_INLINE double value(double t) const {
    const std::size_t k = piece_of(t), a = anchor(k);
    const double step = t - knots.data()[a];
    return values.data()[a] + step * (slopes.data()[k] + 0.5 * curvatures.data()[k] * step);
  }

  /// The slope at t of piece k.
  MINIMAND_INLINE double slope_in(std::size_t k, double t) const {
    return slopes.data()[k] + curvatures.data()[k] * (t - knots.data()[anchor(k)]);
  }

  /// The slope on the right of t.
  MINIMAND_INLINE double slope(double t) const { return slope_in(piece_of(t), t); }

  /// The slope on the left of t.
  MINIMAND_INLINE double slope_left(double t) const {
    const std::size_t k = piece_of(t);
    return k > 0 && t == knots.data()[k - 1] ? left.data()[k - 1] : slope(t);
  }

  /// argmin_s psi(s) + (s - t)^2 / (2 step): the root of s + step psi'(s) = t.
  MINIMAND_INLINE double prox(double t, double step) const { return slope_after(t, step).at; }

  /// The same with the slope there, which is exact on linear pieces and always a slope of psi.
  MINIMAND_INLINE SlopeAt slope_after(double t, double step) const {
    std::size_t k = 0;
    for (; k < count(); ++k) {
      const double knot = knots.data()[k];
      const double below = left.data()[k], above = slopes.data()[k + 1];
      if (t < knot + step * below) break;
      if (t <= knot + step * above) {
        const double slope = (t - knot) / step;
        return {knot, slope < below ? below : slope > above ? above : slope};
      }
    }
    const double from = knots.data()[anchor(k)], bend = curvatures.data()[k];
    const double moved = (t - from - step * slopes.data()[k]) / (1.0 + step * bend);
    return {from + moved, slopes.data()[k] + bend * moved};
  }

  /// The step of a dual variable v, a slope of psi: the root s of (s - t) + step (psi'(s) - v) = 0.
  MINIMAND_INLINE DualStep dual_step(double t, double v, double step) const {
    const SlopeAt found = slope_after(t + step * v, step);
    return {found.at, found.slope, found.slope == v ? 0.0 : young(t, v)};
  }

  /// The terms left after a sweep that met `met`: all, since at kinks terms do not fall steadily.
  MINIMAND_INLINE static double remaining(double met, double) { return met; }

  /// The part of the gap due to sum_i mass_i sign_i v_i != 0: some row has to move to a knot, which
  /// is about `reach` away.
  static double cost_of(double total, double reach, std::span<const double>,
                        std::span<const double>) {
    return reach * (total < 0.0 ? -total : total);
  }

  /// The distance of t from the ends of the linear piece it lies in; 0 on a curved one.
  MINIMAND_INLINE double room(double t) const {
    const std::size_t k = piece_of(t);
    if (curvatures.data()[k] > 0.0) return 0.0;
    double room = std::numeric_limits<double>::infinity();
    if (k > 0) room = t - knots.data()[k - 1];
    if (k < count() && knots.data()[k] - t < room) room = knots.data()[k] - t;
    return room;
  }

  /// psi(t) + psi*(v) - v t, the area between psi' and v from t to where psi' passes v: a sum of
  /// terms that are never negative. Infinite where psi' never reaches v.
  MINIMAND_INLINE double young(double t, double v) const {
    if (v > slope(t)) return area_right(t, v);
    if (v < slope_left(t)) return area_left(t, v);
    return v == v && t == t ? 0.0 : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  MINIMAND_INLINE double area_right(double t, double v) const {
    double area = 0.0;
    for (std::size_t k = piece_of(t);; ++k) {
      const double bend = curvatures.data()[k];
      const double start = v - (slopes.data()[k] + bend * (t - knots.data()[anchor(k)]));
      if (start <= 0.0) return area;
      const bool last = k == count();
      const double end = last ? 0.0 : v - left.data()[k];
      if (last || end < 0.0) {
        return bend > 0.0 ? area + 0.5 * start * (start / bend)
                          : std::numeric_limits<double>::infinity();
      }
      area += 0.5 * (start + end) * (knots.data()[k] - t);
      t = knots.data()[k];
    }
  }

  MINIMAND_INLINE double area_left(double t, double v) const {
    double area = 0.0;
    std::size_t k = piece_of(t);
    if (k > 0 && t == knots.data()[k - 1]) --k;
    for (;; --k) {
      const double bend = curvatures.data()[k];
      const double start = slopes.data()[k] + bend * (t - knots.data()[anchor(k)]) - v;
      if (start <= 0.0) return area;
      const double end = k == 0 ? 0.0 : slopes.data()[k] - v;
      if (k == 0 || end < 0.0) {
        return bend > 0.0 ? area + 0.5 * start * (start / bend)
                          : std::numeric_limits<double>::infinity();
      }
      area += 0.5 * (start + end) * (t - knots.data()[k - 1]);
      t = knots.data()[k - 1];
    }
  }
};

}  // namespace minimand
