#pragma once

#include <cstddef>
#include <span>

namespace minimand {

// The vectors of a Newton step on groups. Each function has clones for this processor.

/// x += length * direction, residual -= length * image.
void advance(std::span<double> x, std::span<double> residual, std::span<const double> direction,
             std::span<const double> image, double length);

/// direction = ready + share * direction.
void turn(std::span<double> direction, std::span<const double> ready, double share);

/// here += ahead * (here - before), and before becomes the old here.
void draw_on(std::span<double> here, std::span<double> before, double ahead);

/// image += l2 d + bend (d - (unit'd) unit): what the penalty of one group adds to a product.
void add_bend(const double* d, const double* unit, const double* l2, double bend, std::size_t size,
              double* image);

/// x = (inverse (I - b unit unit'))^+ r for a group of one row, whose matrix is a number: r times
/// the inverse, and `more` times its part along the unit vector.
void divide(const double* r, const double* unit, double inverse, double more, std::size_t size,
            double* x);

}  // namespace minimand
