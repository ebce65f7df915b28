#pragma once

#include <cstddef>
#include <span>

#include "dense/matrix.hpp"
#include "interior/walk.hpp"

// The corner that an interior point approaches, for a problem with few columns whose penalty has no
// kinks and no bounds. The readable form is `solvers/kinked/vertex.py`, whose names and formulas
// these are.
namespace minimand {

/// Where the risers of the samples began, and the least and greatest slope of psi.
struct CornerScale {
  double width, size;
  double lowest, highest;
};

/// Moves w and b of the point to the corner, and writes its multipliers. False, with nothing
/// changed, if it cannot be told which corner it is, or its equations are singular.
template <class Scalar>
bool find_corner(const DenseMatrix<Scalar>& matrix, const InteriorProblem& problem,
                 InteriorPoint& point, const CornerScale& scale, std::span<double> theta);

}  // namespace minimand
