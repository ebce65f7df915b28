#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "descent/gram_steps.hpp"
#include "support/kept_factor.hpp"
#include "support/pieces.hpp"

namespace minimand {

/// gradient = q + Gw.
void gradient_at(const GramView& gram, std::span<const double> q, std::span<const double> w,
                 std::span<double> gradient);

/// Newton steps on the support of 0.5 w'Gw + q'w + sum l1 |w| + 0.5 sum l2 w^2 within bounds. The
/// factor of the support is kept from one step to the next, on a Gram that may grow meanwhile.
class SupportNewton {
 public:
  /// One step; w and its gradient q + Gw move in place. False if it leads nowhere.
  bool step(const GramView& gram, Penalties penalties, std::span<double> w,
            std::span<double> gradient);

  /// How many coefficients took part in the last step.
  std::size_t size() const { return factor_.members().size(); }

  /// To be called when the Gram is not the same one with more columns.
  void forget() { factor_.clear(); }

 private:
  Support gather(Penalties penalties, std::span<const double> w, std::span<const double> gradient);
  void solve(const GramView& gram, std::span<const double> l2);
  void solve_by_factor(const GramView& gram, std::span<double> right) const;

  KeptFactor factor_;
  std::vector<char> wanted_;
  std::vector<double> image_;                                   // by column
  std::vector<double> start_, slope_, l1_, l2_, lo_, hi_;       // by member of the support
  std::vector<double> step_, right_, along_, residual_, full_;  // by member of the support
  std::vector<double> line_, solved_;  // the line of the Gram, and the factor's answer to it
};

}  // namespace minimand
