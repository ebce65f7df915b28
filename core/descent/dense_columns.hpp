#pragma once

#include <cstdint>

#include "dense/matrix.hpp"
#include "descent/centring.hpp"

namespace minimand {

/// descend_columns for a dense matrix stored column by column.
template <class Scalar>
ColumnsReport descend_dense_columns(const DenseMatrix<Scalar>& matrix,
                                    std::span<const std::int64_t> chosen, std::span<const double> h,
                                    std::span<double> q, std::span<double> w, Penalties penalties,
                                    bool centre, StopRule stop);

}  // namespace minimand
