#include "python/blocks.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace minimand::python {
namespace {

constexpr std::size_t kWorthKeeping = std::size_t{1} << 13;  // doubles, 64 kB; safeguard
constexpr std::size_t kMostIdle = std::size_t{1} << 23;      // doubles, 64 MB; safeguard

struct Idle {
  std::mutex mutex;
  std::deque<Block> blocks;  // oldest first
  std::size_t total = 0;
};

/// Never destroyed: arrays may outlive every static object.
Idle& idle() {
  static Idle* const instance = [] {
#if defined(__unix__) || defined(__APPLE__)
    // A fork while another thread holds the mutex would leave the child waiting for it forever.
    pthread_atfork([] { idle().mutex.lock(); }, [] { idle().mutex.unlock(); },
                   [] { idle().mutex.unlock(); });
#endif
    return new Idle;
  }();
  return *instance;
}

}  // namespace

Block acquire_block(std::size_t size) {
  if (size >= kWorthKeeping) {
    Idle& store = idle();
    const std::lock_guard lock(store.mutex);
    const auto fits = [size](const Block& block) {
      return block.capacity >= size && block.capacity <= size + size / 4;
    };
    // The block released last is the most likely to be still in the cache.
    const auto found = std::find_if(store.blocks.rbegin(), store.blocks.rend(), fits);
    if (found != store.blocks.rend()) {
      Block block = std::move(*found);
      store.total -= block.capacity;
      store.blocks.erase(std::next(found).base());
      return block;
    }
  }
  return {std::make_unique_for_overwrite<double[]>(std::max<std::size_t>(1, size)), size};
}

void release_block(Block block) noexcept {
  if (block.capacity < kWorthKeeping || block.capacity > kMostIdle) return;
  Idle& store = idle();
  const std::lock_guard lock(store.mutex);
  while (store.total + block.capacity > kMostIdle) {
    store.total -= store.blocks.front().capacity;
    store.blocks.pop_front();
  }
  try {
    const std::size_t capacity = block.capacity;
    store.blocks.push_back(std::move(block));
    store.total += capacity;
  } catch (...) {
    // No memory for the list: the block is freed.
  }
}

}  // namespace minimand::python
