#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <system_error>
#include <thread>
#include <vector>

extern "C" {
int minimand_get_num_threads();
void minimand_set_num_threads(int count);
}

namespace minimand {

/// A half-open interval of indices.
struct Range {
  std::size_t begin;
  std::size_t end;
  std::size_t size() const { return end - begin; }
};

/// Element operations below which starting a thread costs more than it saves.
inline constexpr std::size_t kWorkWorthAThread = 400'000;

/// How many parts a loop over n items with `work` element operations is split into.
std::size_t part_count(std::size_t n, std::size_t work);

/// Boundaries of `parts` ranges of nearly equal length that cover [0, n).
std::vector<std::size_t> even_splits(std::size_t n, std::size_t parts);

/// Boundaries of `parts` ranges of major indices with nearly equal numbers of stored entries.
template <class Index>
std::vector<std::size_t> balanced_splits(std::span<const Index> indptr, std::size_t parts) {
  const std::size_t majors = indptr.size() - 1;
  const std::size_t first = static_cast<std::size_t>(indptr.front());
  const std::size_t stored = static_cast<std::size_t>(indptr.back()) - first;
  std::vector<std::size_t> splits(parts + 1, majors);
  splits[0] = 0;
  for (std::size_t part = 1; part < parts; ++part) {
    const auto target = static_cast<Index>(first + stored / parts * part);
    const auto found = std::lower_bound(indptr.begin(), indptr.end() - 1, target);
    splits[part] = std::max(splits[part - 1], static_cast<std::size_t>(found - indptr.begin()));
  }
  return splits;
}

/// Calls f(range, part) for each range between consecutive splits, each on its own thread.
///
/// Threads live only for this call: a pool would not survive a fork. f must not throw. A thread the
/// system refuses to start is replaced by running its part here.
template <class Function>
void run_parts(std::span<const std::size_t> splits, const Function& f) {
  const std::size_t parts = splits.size() - 1;
  const auto run = [&f, splits](std::size_t part) {
    f(Range{splits[part], splits[part + 1]}, part);
  };
  std::vector<std::thread> threads;
  threads.reserve(parts - 1);
  for (std::size_t part = 1; part < parts; ++part) {
    try {
      threads.emplace_back(run, part);
    } catch (const std::system_error&) {
      run(part);
    }
  }
  run(0);
  for (std::thread& thread : threads) thread.join();
}

/// Splits [0, n) evenly over the threads that `work` element operations deserve.
template <class Function>
void parallel_ranges(std::size_t n, std::size_t work, const Function& f) {
  run_parts(even_splits(n, part_count(n, work)), f);
}

/// One zeroed accumulator per part, added in the order of the parts so that the sum depends on
/// nothing but their number. The first part accumulates straight into the result.
class PrivateSums {
 public:
  PrivateSums(std::span<double> result, std::size_t parts);
  std::span<double> of(std::size_t part);
  void add_up();

 private:
  std::span<double> result_;
  std::vector<double> others_;
};

}  // namespace minimand
