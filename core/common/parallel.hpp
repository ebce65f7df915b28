#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>
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

/// Element operations below which starting a thread costs more than it saves; safeguard.
inline constexpr std::size_t kWorkWorthAThread = 400'000;

/// Multiply-adds on lines of dense data that take as long as one element operation. Measured: of
/// two million numbers in the last cache, one thread multiplies as fast as two, of half a million
/// in two thirds of their time.
inline constexpr std::size_t kProductsPerOperation = 8;

/// Threads that a kernel called from this thread may use: its share of those of the process.
int threads_here();

/// Sets how many threads of a pool, including this one, share the threads of the process.
void share_threads(int sharers);

/// Whether `share_threads` was called on this thread.
bool knows_its_share();

/// How many parts a loop over n items with `work` element operations is split into.
///
/// If every part has `copy` sums of its own (see PrivateSums), p parts cost about p * copy
/// operations to clear and add up, and each thread does work / p: the total is least for
/// p^2 = work / copy, so more parts than that are never used.
std::size_t part_count(std::size_t n, std::size_t work, std::size_t copy = 0);

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
/// Threads live only for this call, because a pool would not survive a fork. If the system refuses
/// to start a thread, its part runs on the calling thread. If f throws, the exception of the first
/// part that failed is thrown again after all parts have ended.
template <class Function>
void run_parts(std::span<const std::size_t> splits, const Function& f) {
  const std::size_t parts = splits.size() - 1;
  if (parts == 1) return f(Range{splits[0], splits[1]}, std::size_t{0});
  std::vector<std::exception_ptr> errors(parts);
  const auto run = [&f, splits, &errors](std::size_t part) noexcept {
    try {
      f(Range{splits[part], splits[part + 1]}, part);
    } catch (...) {
      errors[part] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(parts - 1);
  for (std::size_t part = 1; part < parts; ++part) {
    try {
      threads.emplace_back(run, part);
    } catch (...) {  // no thread, or no memory for one
      run(part);
    }
  }
  run(0);
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

/// Splits [0, n) evenly over as many threads as `work` element operations justify.
template <class Function>
void parallel_ranges(std::size_t n, std::size_t work, const Function& f) {
  run_parts(even_splits(n, part_count(n, work)), f);
}

/// One zeroed accumulator per part, added in the order of the parts so that the sum depends only
/// on the number of parts. The first part accumulates directly into the result.
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
