#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "common/parallel.hpp"
#include "dense/matrix.hpp"
#include "python/blocks.hpp"
#include "sparse/compressed.hpp"

// The edge between NumPy and the kernels: arrays come in without a copy, are checked here, and
// continue as spans. A wrong type is a TypeError, a wrong shape or layout a ValueError.
namespace minimand::python {

namespace nb = nanobind;

/// Any array, read only; its type is checked here rather than by nanobind, which would try to copy.
using Array = nb::ndarray<nb::ro, nb::device::cpu>;
/// An array to be changed in place.
using MutableArray = nb::ndarray<nb::device::cpu>;
/// A new array that owns its memory.
using Result = nb::ndarray<nb::numpy, double>;

[[noreturn]] inline void type_problem(const std::string& message) {
  throw nb::type_error(message.c_str());
}

[[noreturn]] inline void value_problem(const std::string& message) {
  throw nb::value_error(message.c_str());
}

template <class Element>
std::string type_name() {
  if constexpr (std::is_same_v<Element, float>) return "float32";
  if constexpr (std::is_same_v<Element, double>) return "float64";
  if constexpr (std::is_same_v<Element, std::int32_t>) return "int32";
  if constexpr (std::is_same_v<Element, std::int64_t>) return "int64";
}

template <class Element, class AnyArray>
bool holds(const AnyArray& array) {
  return array.dtype() == nb::dtype<Element>();
}

template <class AnyArray>
bool is_c_contiguous(const AnyArray& array) {
  std::int64_t expected = 1;
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    const auto extent = static_cast<std::int64_t>(array.shape(axis));
    if (extent > 1 && array.stride(axis) != expected) return array.size() == 0;
    expected *= extent;
  }
  return true;
}

template <class Element, class AnyArray>
void check_aligned(const AnyArray& array, const char* name) {
  if (reinterpret_cast<std::uintptr_t>(array.data()) % alignof(Element) != 0 && array.size() > 0) {
    value_problem(std::string(name) + " must be aligned in memory");
  }
}

template <class Element, class AnyArray>
void check_elements(const AnyArray& array, const char* name) {
  if (!holds<Element>(array)) {
    type_problem(std::string(name) + " must be " + type_name<Element>());
  }
  if (!is_c_contiguous(array)) value_problem(std::string(name) + " must be C-contiguous");
  check_aligned<Element>(array, name);
}

inline void check_size(std::size_t size, std::size_t expected, const char* name) {
  if (size != expected) {
    value_problem(std::string(name) + " must have length " + std::to_string(expected) + ", got " +
                  std::to_string(size));
  }
}

/// A one-dimensional contiguous array.
template <class Element>
std::span<const Element> vector(const Array& array, const char* name) {
  check_elements<Element>(array, name);
  if (array.ndim() != 1) value_problem(std::string(name) + " must be one-dimensional");
  return {static_cast<const Element*>(array.data()), array.size()};
}

template <class Element>
std::span<const Element> vector(const Array& array, const char* name, std::size_t size) {
  const auto result = vector<Element>(array, name);
  check_size(result.size(), size, name);
  return result;
}

inline std::span<double> mutable_vector(const MutableArray& array, const char* name,
                                        std::size_t size) {
  check_elements<double>(array, name);
  if (array.ndim() != 1) value_problem(std::string(name) + " must be one-dimensional");
  check_size(array.size(), size, name);
  return {static_cast<double*>(array.data()), array.size()};
}

/// One vector, or several of them interleaved as the columns of a C-contiguous matrix.
struct Vectors {
  std::span<const double> values;
  std::size_t rows;
  std::size_t width;
  bool flat;

  /// The shape of a result with the same columns and another number of rows.
  std::vector<std::size_t> shape(std::size_t result_rows) const {
    return flat ? std::vector{result_rows} : std::vector{result_rows, width};
  }
};

inline Vectors vectors(const Array& array, const char* name) {
  check_elements<double>(array, name);
  if (array.ndim() != 1 && array.ndim() != 2) {
    value_problem(std::string(name) + " must have one or two dimensions");
  }
  const bool flat = array.ndim() == 1;
  return {{static_cast<const double*>(array.data()), array.size()},
          array.shape(0),
          flat ? 1 : array.shape(1),
          flat};
}

inline Vectors vectors(const Array& array, const char* name, std::size_t rows) {
  const Vectors result = vectors(array, name);
  check_size(result.rows, rows, name);
  return result;
}

/// Numbers of rows or columns below `limit`.
inline std::span<const std::int64_t> places(const Array& array, const char* name,
                                            std::size_t limit) {
  const auto result = vector<std::int64_t>(array, name);
  for (const std::int64_t place : result) {
    if (place < 0 || static_cast<std::size_t>(place) >= limit) {
      value_problem(std::string(name) + " must hold numbers of at least 0 and below " +
                    std::to_string(limit) + ", got " + std::to_string(place));
    }
  }
  return result;
}

/// Numbers of rows in 32 bits each, below `limit`.
template <class AnyArray>
auto row_numbers(const AnyArray& array, const char* name, std::size_t limit) {
  using Element =
      std::conditional_t<std::is_same_v<AnyArray, Array>, const std::uint32_t, std::uint32_t>;
  if (array.dtype() != nb::dtype<std::uint32_t>() || array.ndim() != 1 || !is_c_contiguous(array)) {
    value_problem(std::string(name) + " must be a contiguous vector of uint32");
  }
  check_aligned<std::uint32_t>(array, name);
  const std::span<Element> rows(static_cast<Element*>(array.data()), array.size());
  for (const std::uint32_t row : rows) {
    if (row >= limit) value_problem(std::string(name) + " must hold numbers of rows");
  }
  return rows;
}

/// A non-negative count given from Python.
inline std::size_t count(std::int64_t number, const char* name) {
  if (number < 0) value_problem(std::string(name) + " must not be negative");
  return static_cast<std::size_t>(number);
}

/// Memory for a result, filled without the interpreter and handed over at the end.
class Fresh {
 public:
  explicit Fresh(std::vector<std::size_t> shape) : shape_(std::move(shape)) {
    for (const std::size_t extent : shape_) size_ *= extent;
    block_ = acquire_block(size_);
  }

  std::span<double> values() { return {block_.memory.get(), size_}; }

  Result hand_over() {
    auto block = std::make_unique<Block>(std::move(block_));
    double* const memory = block->memory.get();
    const nb::capsule owner(block.get(), [](void* p) noexcept {
      const std::unique_ptr<Block> returned(static_cast<Block*>(p));
      release_block(std::move(*returned));
    });
    block.release();
    return Result(memory, shape_.size(), shape_.data(), owner);
  }

 private:
  std::vector<std::size_t> shape_;
  std::size_t size_ = 1;
  Block block_;
};

/// Asks Python, once for every thread, how many threads of a pool share the processors with it.
void settle_share();

/// Throws the exception that a signal handler has raised while a kernel ran, if there is one.
void throw_what_came();

/// Runs a kernel with the interpreter free for other threads.
template <class Kernel>
auto without_gil(const Kernel& kernel) {
  if (!knows_its_share()) settle_share();
  const auto run = [&kernel] {
    const nb::gil_scoped_release released;
    return kernel();
  };
  if constexpr (std::is_void_v<decltype(kernel())>) {
    run();
    throw_what_came();
  } else {
    auto result = run();
    throw_what_came();
    return result;
  }
}

/// A compressed matrix whose arrays were checked when it was made: kernels follow its indices
/// without another look, however often they are called.
class CheckedMatrix {
 public:
  CheckedMatrix(Array indptr, Array indices, Array data, std::int64_t n_minor);

  /// Calls f with the matrix of whichever types the three arrays hold.
  template <class Function>
  decltype(auto) visit(const Function& f) const {
    return std::visit(f, matrix_);
  }

  nb::tuple arguments() const;

 private:
  Array indptr_, indices_, data_;  // whose memory the spans look at
  std::size_t minors_;
  std::variant<Compressed<float, std::int32_t>, Compressed<float, std::int64_t>,
               Compressed<double, std::int32_t>, Compressed<double, std::int64_t>>
      matrix_;
};

template <class Scalar>
DenseMatrix<Scalar> dense(const Array& array) {
  const std::size_t rows = array.shape(0);
  const std::size_t columns = array.shape(1);
  const Scalar* const data = static_cast<const Scalar*>(array.data());
  const auto spanned = [](std::size_t lines, std::size_t length, std::size_t stride) {
    return lines == 0 || length == 0 ? 0 : (lines - 1) * stride + length;
  };
  // A line must be contiguous; lines may lie apart, as in a slice of a larger matrix. The stride
  // of an axis of length one means nothing.
  const auto usable = [](std::int64_t along, std::size_t length, std::int64_t across,
                         std::size_t lines) {
    const bool contiguous = length <= 1 || along == 1;
    return contiguous && (lines <= 1 || across >= static_cast<std::int64_t>(length));
  };
  const bool empty = array.size() == 0;
  if (empty || usable(array.stride(1), columns, array.stride(0), rows)) {
    const auto stride = empty || rows <= 1 ? columns : static_cast<std::size_t>(array.stride(0));
    return {{data, spanned(rows, columns, stride)}, rows, columns, stride, true};
  }
  if (usable(array.stride(0), rows, array.stride(1), columns)) {
    const auto stride = columns <= 1 ? rows : static_cast<std::size_t>(array.stride(1));
    return {{data, spanned(columns, rows, stride)}, columns, rows, stride, false};
  }
  value_problem("X must have contiguous rows or contiguous columns");
}

/// The same matrix with its columns as lines, which a matrix of one row or one column also has.
template <class Scalar>
DenseMatrix<Scalar> by_columns(const DenseMatrix<Scalar>& matrix) {
  if (!matrix.by_rows) return matrix;
  if (matrix.lines > 1 && matrix.length > 1) value_problem("X must have contiguous columns");
  if (matrix.length == 1 && matrix.lines > 1 && matrix.stride != 1) {
    value_problem("X must have contiguous columns");
  }
  return {matrix.values, matrix.length, matrix.lines, matrix.lines, false};
}

/// Calls f with the dense matrix of whichever type the array holds.
template <class Function>
decltype(auto) with_dense(const Array& array, const Function& f) {
  const bool single = holds<float>(array);
  if (!single && !holds<double>(array)) type_problem("X must be float32 or float64");
  if (array.ndim() != 2) value_problem("X must be two-dimensional");
  single ? check_aligned<float>(array, "X") : check_aligned<double>(array, "X");
  if (single) return f(dense<float>(array));
  return f(dense<double>(array));
}

/// Calls f with a matrix by rows, compressed or dense, and its numbers of rows and columns. So a
/// kernel over rows is bound once for both: as a template of the kind of matrix.
template <class Function>
decltype(auto) with_rows(const CheckedMatrix& checked, const Function& f) {
  return checked.visit(
      [&](const auto& matrix) { return f(matrix, matrix.majors(), matrix.minors); });
}

template <class Function>
decltype(auto) with_rows(const Array& X, const Function& f) {
  return with_dense(X, [&](const auto& matrix) {
    if (!matrix.by_rows) value_problem("X must have contiguous rows");
    return f(matrix, matrix.rows(), matrix.columns());
  });
}

}  // namespace minimand::python
