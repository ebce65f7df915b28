#include "path/gap.hpp"

#include "scalar/separable.hpp"

namespace minimand {

MINIMAND_CLONES SquaredModel gap_of_squares(double residual_square, std::span<const double> slope,
                                            std::span<const double> w, Penalties penalties) {
  return {squared_gap(residual_square, slope, w, penalties),
          separable_value({penalties.l1, penalties.l2}, w)};
}

}  // namespace minimand
