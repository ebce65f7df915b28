#pragma once

#include <span>

#include "scalar/pieces.hpp"

namespace minimand {

/// psi(t) and its first two derivatives; at a knot those on its right.
void piecewise_terms(const Pieces& pieces, std::span<const double> t, std::span<double> value,
                     std::span<double> slope, std::span<double> curvature);

/// psi(t) + psi*(v) - v t.
void piecewise_young(const Pieces& pieces, std::span<const double> t, std::span<const double> v,
                     std::span<double> result);

/// argmin_s psi(s) + (s - t)^2 / (2 step).
void piecewise_prox(const Pieces& pieces, std::span<const double> t, std::span<const double> step,
                    std::span<double> result);

/// The lowest and the highest b that minimise sum_i mass_i psi(t_i + sign_i b), sign_i = +-1.
struct Shifts {
  double lowest;
  double highest;
};
Shifts piecewise_shift(const Pieces& pieces, std::span<const double> t,
                       std::span<const double> sign, std::span<const double> mass);

}  // namespace minimand
