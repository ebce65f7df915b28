#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "scalar/functions.hpp"
#include "scalar/pieces.hpp"
#include "scalar/softplus.hpp"

namespace minimand {

/// psi, psi' and psi'' at every t.
struct SmoothTerms {
  std::vector<double> value, slope, bend;
  explicit SmoothTerms(std::size_t n) : value(n), slope(n), bend(n) {}

  void at(const Pieces& pieces, std::span<const double> t) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      value[i] = pieces.value(t[i]);
      slope[i] = pieces.slope(t[i]);
      bend[i] = pieces.curvatures[pieces.piece_of(t[i])];
    }
  }
  void at(const Softplus&, std::span<const double> t) {
    ones_.resize(t.size(), 1.0);
    logistic_terms(t, ones_, value, slope, bend);
  }

 private:
  std::vector<double> ones_;
};

}  // namespace minimand
