#pragma once

#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "scalar/exponentials.hpp"
#include "scalar/functions.hpp"
#include "scalar/pieces.hpp"
#include "scalar/softplus.hpp"

namespace minimand {

/// The losses psi of a row that steps on all rows know.
using SmoothPsi = std::variant<Pieces, Softplus, Exponentials>;

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
  void at(const Exponentials& psi, std::span<const double> t) {
    exponentials_terms(psi, t, value, slope, bend);
  }

 private:
  std::vector<double> ones_;
};

}  // namespace minimand
