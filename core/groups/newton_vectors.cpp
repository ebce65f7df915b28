#include "groups/newton_vectors.hpp"

#include "common/lanes.hpp"

namespace minimand {

MINIMAND_CLONES void advance(std::span<double> x, std::span<double> residual,
                             std::span<const double> direction, std::span<const double> image,
                             double length) {
  double* const __restrict to = x.data();
  double* const __restrict rest = residual.data();
  for (std::size_t i = 0; i < x.size(); ++i) {
    to[i] += length * direction.data()[i];
    rest[i] -= length * image.data()[i];
  }
}

MINIMAND_CLONES void turn(std::span<double> direction, std::span<const double> ready,
                          double share) {
  double* const __restrict to = direction.data();
  for (std::size_t i = 0; i < direction.size(); ++i) to[i] = ready.data()[i] + share * to[i];
}

MINIMAND_CLONES void draw_on(std::span<double> here, std::span<double> before, double ahead) {
  double* const __restrict a = here.data();
  double* const __restrict b = before.data();
  for (std::size_t i = 0; i < here.size(); ++i) {
    const double old = a[i];
    a[i] += ahead * (old - b[i]);
    b[i] = old;
  }
}

MINIMAND_CLONES void add_bend(const double* d, const double* unit, const double* l2, double bend,
                              std::size_t size, double* image) {
  const double radial = bend > 0.0 ? dot(unit, d, size) : 0.0;
  double* const __restrict to = image;
  for (std::size_t i = 0; i < size; ++i) to[i] += l2[i] * d[i] + bend * (d[i] - radial * unit[i]);
}

MINIMAND_CLONES void divide(const double* r, const double* unit, double inverse, double more,
                            std::size_t size, double* x) {
  const double along = more > 0.0 ? more * dot(unit, r, size) : 0.0;
  double* const __restrict to = x;
  for (std::size_t i = 0; i < size; ++i) to[i] = inverse * (r[i] + along * unit[i]);
}

}  // namespace minimand
