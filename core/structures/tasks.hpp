#pragma once

#include <atomic>
#include <cstddef>

#include "common/parallel.hpp"
#include "common/watch.hpp"

namespace minimand {

/// Calls task(number, part, leaves) for each number below `tasks`, on `parts` threads: each takes
/// the next number when it is done with the last, since tasks differ in length. A task returns
/// early if leaves() says so; then `Stopped` is thrown.
template <class Task>
void share_tasks(std::size_t tasks, std::size_t parts, const Task& task) {
  std::atomic<std::size_t> next = 0;
  GiveUp give_up;
  run_parts(even_splits(parts, parts), [&](Range, std::size_t part) {
    const auto leaves = [&give_up, part] { return give_up.leaves(part); };
    for (std::size_t number = next++; number < tasks && !leaves(); number = next++) {
      task(number, part, leaves);
    }
  });
  give_up.throw_if_left();
}

}  // namespace minimand
