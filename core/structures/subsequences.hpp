#pragma once

#include "structures/sequences.hpp"

// The gapped subsequence kernel: over all subsequences u of a given length that two sequences
// share, the sum of decay^(places that u spans in one + places that it spans in the other).
namespace minimand {

/// `gram` (left x right, row by row). If `same`, right is left, and each pair is computed once.
void subsequence_gram(const Sequences& left, const Sequences& right, bool same, std::size_t length,
                      double decay, std::span<double> gram);

/// The kernel of every sequence with itself.
void subsequence_diagonal(const Sequences& sequences, std::size_t length, double decay,
                          std::span<double> diagonal);

}  // namespace minimand
