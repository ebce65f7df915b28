#include "groups/momentum.hpp"

#include <algorithm>
#include <cstddef>

#include "groups/newton_vectors.hpp"

namespace minimand {

void GroupMomentum::begin(std::span<const double> w, std::span<const double> slopes) {
  w_.assign(w.begin(), w.end());
  slopes_.assign(slopes.begin(), slopes.end());
}

double GroupMomentum::end(std::span<const double> w, std::span<const double> slopes) {
  constexpr double kMost = 10.0;  // of the way between two rounds; safeguard
  double along = 0.0, square = 0.0;
  bool same = rounds_ > 0;
  change_.resize(w.size());
  slope_change_.resize(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double change = w[i] - w_[i], slope = slopes[i] - slopes_[i];
    const double bent = slope - slope_change_[i];
    along += change * bent;
    square += (change - change_[i]) * bent;
    change_[i] = change;
    slope_change_[i] = slope;
    same = same && (w[i] == 0.0) == (end_[i] == 0.0);
  }
  ++rounds_;
  const double ahead = same && square > 0.0 ? -along / square : 0.0;
  return ahead > 0.0 ? std::min(ahead, kMost) : 0.0;
}

void GroupMomentum::go_past(std::span<double> w, double ahead) {
  end_.resize(w.size());
  if (ahead == 0.0) {
    std::ranges::copy(w, end_.begin());
  } else {
    draw_on(w, end_, ahead);
  }
}

void GroupMomentum::go_back(std::span<double> w) const { std::ranges::copy(end_, w.begin()); }

}  // namespace minimand
