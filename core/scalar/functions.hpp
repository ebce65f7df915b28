#pragma once

#include <span>

namespace minimand {

void exponentials(std::span<const double> x, std::span<double> result);
void logs_one_plus(std::span<const double> x, std::span<double> result);

/// With the margin m = y z, y = +-1: log(1 + e^-m) and its first two derivatives in z.
void logistic_terms(std::span<const double> z, std::span<const double> y, std::span<double> value,
                    std::span<double> gradient, std::span<double> curvature);

void logistic_derivatives(std::span<const double> z, std::span<const double> y,
                          std::span<double> gradient, std::span<double> curvature);

}  // namespace minimand
