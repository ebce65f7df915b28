#pragma once

#include <cstddef>
#include <memory>

namespace minimand::python {

/// Memory for a result.
struct Block {
  std::unique_ptr<double[]> memory;
  std::size_t capacity = 0;
};

/// A block of at least `size` doubles, uninitialised.
///
/// A solver asks for the same few sizes in every iteration. Returning such memory to the system and
/// faulting it in again, page by page, costs more than most kernels that fill it, so large blocks
/// wait here, up to a fixed total, for the next request.
Block acquire_block(std::size_t size);

/// Takes a block back.
void release_block(Block block) noexcept;

}  // namespace minimand::python
