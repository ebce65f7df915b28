#pragma once

#include <atomic>
#include <cstddef>

namespace minimand {

/// Thrown, outside of any thread of its own, by a kernel that has no part of a result to give.
struct Stopped {};

/// Questions that long kernels ask, on the thread that called them, between pieces of their work.
/// Whoever answers is asked at most ten times a second; nobody answers unless `ask` was called.
using Question = bool (*)();
void ask(Question whether_to_stop, Question whether_to_give_up);

/// Whether to hand over what there is: for kernels that improve something step by step.
bool stopping();

/// Whether to throw `Stopped`: for kernels whose result is nothing until it is complete.
bool giving_up();

/// One answer for all threads of a kernel that has nothing to hand over before its end.
class GiveUp {
 public:
  /// Whether to leave; part 0, on the thread of the caller, asks.
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
