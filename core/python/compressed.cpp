#include <type_traits>
#include <utility>

#include "common/targets.hpp"
#include "python/arrays.hpp"
#include "python/bindings.hpp"

namespace minimand::python {
namespace {

/// Whether all numbers are from 0 to `last`: the top bit of neither `number` nor `last - number`
/// is set then. Without a branch, so that several are looked at at once.
template <class Index>
MINIMAND_INLINE bool are_within(std::span<const Index> numbers, Index last) {
  using Bits = std::make_unsigned_t<Index>;
  const Index* const from = numbers.data();
  const std::size_t n = numbers.size();
  Bits wrong = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const auto number = static_cast<Bits>(from[k]);
    wrong |= number | (static_cast<Bits>(last) - number);
  }
  return static_cast<Index>(wrong) >= 0;
}

/// Whether no number, of which none is negative, is below the one before it.
template <class Index>
MINIMAND_INLINE bool never_falls(std::span<const Index> numbers) {
  using Bits = std::make_unsigned_t<Index>;
  const Index* const from = numbers.data();
  const std::size_t n = numbers.size();
  Bits wrong = 0;
  for (std::size_t k = 1; k < n; ++k) {
    wrong |= static_cast<Bits>(from[k]) - static_cast<Bits>(from[k - 1]);
  }
  return static_cast<Index>(wrong) >= 0;
}

}  // namespace

#define MINIMAND_KERNELS(Index)                                                 \
  bool all_within(std::span<const Index> numbers, Index last);                  \
  bool is_increasing(std::span<const Index> numbers);                           \
  MINIMAND_CLONES bool all_within(std::span<const Index> numbers, Index last) { \
    return are_within(numbers, last);                                           \
  }                                                                             \
  MINIMAND_CLONES bool is_increasing(std::span<const Index> numbers) {          \
    return never_falls(numbers);                                                \
  }
MINIMAND_KERNELS(std::int32_t)
MINIMAND_KERNELS(std::int64_t)

namespace {

template <class Scalar, class Index>
Compressed<Scalar, Index> compressed(const Array& indptr, const Array& indices, const Array& data,
                                     std::size_t minors) {
  const Compressed<Scalar, Index> matrix{vector<Index>(indptr, "indptr"),
                                         vector<Index>(indices, "indices"),
                                         vector<Scalar>(data, "data"), minors};
  if (matrix.indptr.empty()) value_problem("indptr must not be empty");
  const std::size_t stored = matrix.values.size();
  check_size(matrix.indices.size(), stored, "indices");
  const auto largest = static_cast<std::size_t>(std::numeric_limits<Index>::max());
  const auto end = static_cast<Index>(std::min(stored, largest));
  // With no columns at all the last one is -1, and every number is too large.
  const auto last = static_cast<Index>(static_cast<std::int64_t>(std::min(minors, largest)) - 1);
  const auto [sound_ends, sound_places] = without_gil([&] {
    const bool ends = all_within(matrix.indptr, end) && is_increasing(matrix.indptr);
    return std::pair(ends, all_within(matrix.indices, last));
  });
  if (!sound_ends) value_problem("indptr must not fall, and must point into data");
  if (!sound_places) {
    value_problem("indices must hold numbers of at least 0 and below " + std::to_string(minors));
  }
  return matrix;
}

}  // namespace

CheckedMatrix::CheckedMatrix(Array indptr, Array indices, Array data, std::int64_t n_minor)
    : indptr_(std::move(indptr)),
      indices_(std::move(indices)),
      data_(std::move(data)),
      minors_(count(n_minor, "n_minor")) {
  const bool single = holds<float>(data_);
  if (!single && !holds<double>(data_)) type_problem("data must be float32 or float64");
  const bool narrow = holds<std::int32_t>(indptr_);
  if (!narrow && !holds<std::int64_t>(indptr_)) type_problem("indptr must be int32 or int64");
  if (single && narrow) {
    matrix_ = compressed<float, std::int32_t>(indptr_, indices_, data_, minors_);
  } else if (single) {
    matrix_ = compressed<float, std::int64_t>(indptr_, indices_, data_, minors_);
  } else if (narrow) {
    matrix_ = compressed<double, std::int32_t>(indptr_, indices_, data_, minors_);
  } else {
    matrix_ = compressed<double, std::int64_t>(indptr_, indices_, data_, minors_);
  }
}

nb::tuple CheckedMatrix::arguments() const {
  return nb::make_tuple(indptr_, indices_, data_, minors_);
}

void bind_compressed(nb::module_& m) {
  using nb::arg;
  nb::class_<CheckedMatrix>(
      m, "Compressed",
      "A CSR or CSC matrix, its arrays looked at but not copied, whose sizes and indices are "
      "checked once. The major axis is the rows of a CSR and the columns of a CSC.")
      .def(nb::init<Array, Array, Array, std::int64_t>(), arg("indptr"), arg("indices"),
           arg("data"), arg("n_minor"))
      .def("__reduce__", [](nb::handle self) {
        return nb::make_tuple(self.type(), nb::cast<const CheckedMatrix&>(self).arguments());
      });
}

}  // namespace minimand::python
