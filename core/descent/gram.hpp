#pragma once

#include "descent/gram_steps.hpp"

namespace minimand {

/// Minimises 0.5 w'Gw + q'w + sum l1_j |w_j| + 0.5 sum l2_j w_j^2 over w, in place.
/// `gram` is symmetric, of side w.size(); w keeps the bounds of the penalties, if it starts in
/// them.
SweepReport descend_gram(const GramView& gram, std::span<const double> q, std::span<double> w,
                         Penalties penalties, StopRule stop);

}  // namespace minimand
