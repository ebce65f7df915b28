#include "descent/gram.hpp"

#include <vector>

#include "descent/gram_steps.hpp"

namespace minimand {

SweepReport descend_gram_kernel(std::span<const double> gram, std::span<double> gradient,
                                std::span<double> w, Penalties penalties, StopRule stop,
                                std::span<std::size_t> active);

MINIMAND_CLONES SweepReport descend_gram_kernel(std::span<const double> gram,
                                                std::span<double> gradient, std::span<double> w,
                                                Penalties penalties, StopRule stop,
                                                std::span<std::size_t> active) {
  const GramView whole{gram, w.size(), w.size()};
  add_product(whole, w, gradient);
  GramDescent descent{whole, gradient, w, penalties};
  return sweep_until_settled(one_by_one(descent, w.size()), w, active, stop);
}

SweepReport descend_gram(std::span<const double> gram, std::span<const double> q,
                         std::span<double> w, Penalties penalties, StopRule stop) {
  std::vector<double> gradient(q.begin(), q.end());
  std::vector<std::size_t> active(w.size());
  return descend_gram_kernel(gram, gradient, w, penalties, stop, active);
}

}  // namespace minimand
