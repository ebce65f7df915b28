#include "descent/gram.hpp"

#include <vector>

#include "descent/gram_steps.hpp"

namespace minimand {

SweepReport descend_gram_kernel(const GramView& gram, std::span<double> gradient,
                                std::span<double> w, Penalties penalties, StopRule stop,
                                std::span<std::size_t> active);

MINIMAND_CLONES SweepReport descend_gram_kernel(const GramView& gram, std::span<double> gradient,
                                                std::span<double> w, Penalties penalties,
                                                StopRule stop, std::span<std::size_t> active) {
  add_product(gram, w, gradient);
  GramDescent descent{gram, gradient, w, penalties};
  return sweep_until_settled(one_by_one(descent, w.size()), w, active, stop);
}

SweepReport descend_gram(const GramView& gram, std::span<const double> q, std::span<double> w,
                         Penalties penalties, StopRule stop) {
  std::vector<double> gradient(q.begin(), q.end());
  std::vector<std::size_t> active(w.size());
  return descend_gram_kernel(gram, gradient, w, penalties, stop, active);
}

}  // namespace minimand
