#include "common/watch.hpp"

#include <chrono>

namespace minimand {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPause = std::chrono::milliseconds(100);  // between two questions; safeguard

Question stop_question = nullptr;
Question give_up_question = nullptr;

bool answer(Question question) {
  thread_local Clock::time_point last{};
  if (question == nullptr) return false;
  const Clock::time_point now = Clock::now();
  if (now - last < kPause) return false;
  const bool yes = question();
  // After a yes there is no pause, so that the next kernel stops at once.
  if (!yes) last = now;
  return yes;
}

}  // namespace

void ask(Question whether_to_stop, Question whether_to_give_up) {
  stop_question = whether_to_stop;
  give_up_question = whether_to_give_up;
}

bool stopping() { return answer(stop_question); }

bool giving_up() { return answer(give_up_question); }

}  // namespace minimand
