#pragma once

#include <atomic>
#include <cstddef>

namespace minimand {

/// Thrown on the calling thread by a stopped kernel that has no partial result.
struct Stopped {};

/// Long kernels ask, on the thread that called them, between pieces of their work, whether to stop.
/// The callbacks that `ask` has set are called at most ten times a second; without any, the answer
/// is no.
using Question = bool (*)();
void ask(Question whether_to_stop, Question whether_to_give_up);

/// Whether to return the result so far: for kernels that improve a result step by step.
bool stopping();

/// Whether to throw `Stopped`: for kernels whose result is useless until it is complete.
bool giving_up();

/// One answer for all threads of a kernel whose result is useless until it is complete.
class GiveUp {
 public:
  /// Whether to stop; only part 0, on the calling thread, asks.
  bool leaves(std::size_t part) {
    if (part == 0 && giving_up()) left_.store(true, std::memory_order_relaxed);
    return left_.load(std::memory_order_relaxed);
  }
  /// To be called when all threads have ended.
  void throw_if_left() const {
    if (left_) throw Stopped{};
  }

 private:
  std::atomic<bool> left_ = false;
};

}  // namespace minimand
