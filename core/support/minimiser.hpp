#pragma once

#include <span>

#include "descent/gram_steps.hpp"
#include "support/newton.hpp"

namespace minimand {

/// An active set, in place: Newton steps until the support no longer changes, then the column that
/// gains most; w keeps the bounds of the penalties, if it starts in them.
///
/// Where columns outnumber the directions they span, or nearly agree, sweeps give all of them
/// nonzero coefficients, a Newton step on the support removes one, and the next sweep brings it
/// back. An active set changes only when the objective falls, so that no set occurs twice. It ends
/// where no single column gains more than `tol`, or rounding hides what the last one gained. On
/// more than 300 columns nothing is done: it would take a step for each.
void settle_on_gram(const GramView& gram, std::span<const double> q, std::span<double> w,
                    Penalties penalties, double tol, SupportNewton& newton);

/// Minimises 0.5 w'Gw + q'w + sum l1_j |w_j| + 0.5 sum l2_j w_j^2 over w, in place: sweeps and
/// Newton steps on the support in turn, until a sweep gains no more than `tol`; on few columns then
/// exactly, by an active set.
void minimise_on_gram(const GramView& gram, std::span<const double> q, std::span<double> w,
                      Penalties penalties, double tol);

}  // namespace minimand
