#include "common/parallel.hpp"

#include <atomic>
#include <cmath>
#include <cstdlib>

#if defined(__linux__)
#include <sched.h>
#endif

namespace {

int available_processors() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int default_num_threads() {
  const int processors = available_processors();
  const char* text = std::getenv("OMP_NUM_THREADS");
  const int requested = text ? std::atoi(text) : 0;
  return requested > 0 ? std::min(processors, requested) : processors;
}

std::atomic<int>& num_threads() {
  static std::atomic<int> count{default_num_threads()};
  return count;
}

thread_local int known_sharers = 0;  // 0: not set yet

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int minimand_get_num_threads() { return num_threads(); }

__attribute__((visibility("default"))) void minimand_set_num_threads(int count) {
  num_threads() = std::max(1, count);
}
}

namespace minimand {

int threads_here() { return std::max(1, minimand_get_num_threads() / std::max(1, known_sharers)); }

void share_threads(int sharers) { known_sharers = std::max(1, sharers); }

bool knows_its_share() { return known_sharers > 0; }

std::size_t part_count(std::size_t n, std::size_t work, std::size_t copy) {
  if (work < kWorkWorthAThread) return 1;
  // Each part must have enough work for a thread, however many threads there are.
  std::size_t affordable = std::max<std::size_t>(2, work / (kWorkWorthAThread / 2));
  if (copy > 0) {
    const double best = std::sqrt(static_cast<double>(work) / static_cast<double>(copy));
    affordable = std::min(affordable, static_cast<std::size_t>(best));
  }
  const auto threads = static_cast<std::size_t>(threads_here());
  return std::max<std::size_t>(1, std::min({threads, affordable, n}));
}

std::vector<std::size_t> even_splits(std::size_t n, std::size_t parts) {
  std::vector<std::size_t> splits(parts + 1);
  for (std::size_t part = 0; part <= parts; ++part) {
    splits[part] = n / parts * part + std::min(part, n % parts);
  }
  return splits;
}

PrivateSums::PrivateSums(std::span<double> result, std::size_t parts)
    : result_(result), others_(result.size() * (parts - 1)) {
  std::fill(result.begin(), result.end(), 0.0);
}

std::span<double> PrivateSums::of(std::size_t part) {
  if (part == 0) return result_;
  return std::span<double>(others_).subspan((part - 1) * result_.size(), result_.size());
}

void PrivateSums::add_up() {
  const std::size_t size = result_.size();
  for (std::size_t offset = 0; offset < others_.size(); offset += size) {
    for (std::size_t i = 0; i < size; ++i) result_[i] += others_[offset + i];
  }
}

}  // namespace minimand
