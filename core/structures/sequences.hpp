#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace minimand {

/// Sequences of symbols, one after another: sequence i holds symbols starts[i] to starts[i + 1].
struct Sequences {
  std::span<const std::int32_t> symbols;
  std::span<const std::int64_t> starts;

  std::size_t count() const { return starts.size() - 1; }
  std::size_t length(std::size_t i) const {
    return static_cast<std::size_t>(starts[i + 1] - starts[i]);
  }
  std::span<const std::int32_t> of(std::size_t i) const {
    return symbols.subspan(static_cast<std::size_t>(starts[i]), length(i));
  }
};

}  // namespace minimand
