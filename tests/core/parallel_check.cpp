// What core/common/parallel.hpp promises and no kernel can be made to show;
// test_core_parallel.py runs it.
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string_view>

#include "common/parallel.hpp"

using namespace minimand;

namespace {

int failures = 0;

void expect(bool condition, const char* words) {
  if (condition) return;
  std::printf("%s\n", words);
  ++failures;
}

/// The words of what f throws in some of eight parts, and how many parts ran.
template <class Function>
void errors_reach_the_caller(const Function& f, const char* expected) {
  std::vector<int> ran(8, 0);
  const char* words = "nothing";
  try {
    run_parts(even_splits(8, 8), [&](Range, std::size_t part) {
      ran[part] = 1;
      f(part);
    });
  } catch (const std::bad_alloc&) {
    words = "bad_alloc";
  } catch (const std::runtime_error& error) {
    words = error.what();
  }
  expect(std::string_view(words) == expected, expected);
  for (const int one : ran) expect(one == 1, "every part runs, whatever happens to the others");
}

}  // namespace

int main() {
  minimand_set_num_threads(32);
  errors_reach_the_caller([](std::size_t) {}, "nothing");
  errors_reach_the_caller(
      [](std::size_t part) {
        if (part == 5) throw std::bad_alloc();
      },
      "bad_alloc");
  errors_reach_the_caller(
      [](std::size_t part) {
        if (part == 0) throw std::runtime_error("of the caller's own part");
      },
      "of the caller's own part");
  errors_reach_the_caller(
      [](std::size_t part) {
        if (part == 6) throw std::bad_alloc();
        if (part == 2) throw std::runtime_error("of the first part that fails");
      },
      "of the first part that fails");

  const std::size_t work = 100'000'000;
  expect(part_count(1000, work) == 32, "without sums of their own parts are as many as threads");
  expect(part_count(1000, work, 10) == 32, "short sums cost nothing");
  expect(part_count(50, work, work / 100) == 10, "long sums: the root of work over length");
  expect(part_count(50, work, work) == 1, "sums as long as the work: one part");
  expect(part_count(50, work, 3 * work) == 1, "sums longer than the work: one part");
  share_threads(4);
  expect(threads_here() == 8 && part_count(1000, work) == 8, "a worker of four has a quarter");
  expect(minimand_get_num_threads() == 32, "the process has all of them");
  std::thread([] { expect(threads_here() == 32, "another thread has its own share"); }).join();
  return failures;
}
