#pragma once

#include <span>

#include "scalar/exponentials.hpp"

namespace minimand {

void exponentials(std::span<const double> x, std::span<double> result);
/// e^x - 1 - x, which does not cancel.
void excesses(std::span<const double> x, std::span<double> result);
void logs_one_plus(std::span<const double> x, std::span<double> result);

/// With the margin m = y z, y = +-1: log(1 + e^-m) and its first two derivatives in z.
void logistic_terms(std::span<const double> z, std::span<const double> y, std::span<double> value,
                    std::span<double> gradient, std::span<double> curvature);

void logistic_derivatives(std::span<const double> z, std::span<const double> y,
                          std::span<double> gradient, std::span<double> curvature);

/// A function of this form, and its first two derivatives in t.
void exponentials_terms(const Exponentials& psi, std::span<const double> t, std::span<double> value,
                        std::span<double> slope, std::span<double> bend);

/// Kullback-Leibler divergence of the Bernoulli laws q and 1/(1 + e^-z); infinite unless 0 <= q
/// <= 1.
void binary_relative_entropies(std::span<const double> q, std::span<const double> z,
                               std::span<double> result);

/// sum_i a_i b_i.
double inner_product(std::span<const double> a, std::span<const double> b);

/// to_i += factor * more_i.
void add_scaled(std::span<double> to, double factor, std::span<const double> more);

}  // namespace minimand
