#pragma once

#include "sparse/compressed.hpp"

namespace minimand {

/// The same matrix with its other axis as the major one: a CSR becomes a CSC, and the other way
/// round. The entries of a major index keep the order of the old major indices. `indptr` has one
/// number more than there are minors.
template <class Scalar, class Index>
void transpose(const Compressed<Scalar, Index>& matrix, std::span<Index> indptr,
               std::span<Index> indices, std::span<Scalar> values);

/// The rows of a CSR restricted to the columns whose slot is not negative, which is their new
/// index. `indptr` has one number more than there are rows; false if the entries are not exactly as
/// many as `indices` has room for.
template <class Scalar, class Index>
bool pick_minors(const Compressed<Scalar, Index>& rows, std::span<const Index> slot,
                 std::span<Index> indptr, std::span<Index> indices, std::span<Scalar> values);

/// The same matrix with one minor more, of which every major has `value` as its last entry.
/// `indptr` is as long as before, `indices` and `values` have room for one entry more per major.
template <class Scalar, class Index>
void append_minor(const Compressed<Scalar, Index>& matrix, Scalar value, std::span<Index> indptr,
                  std::span<Index> indices, std::span<Scalar> values);

}  // namespace minimand
