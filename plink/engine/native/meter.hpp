#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace plink::engine {

/// How long a worker had its parts of large buffers under way, and how many bytes these were. Small
/// ones would tell about delays, not rates. Any thread may read; whoever drives the worker writes.
class Meter {
  public:
    using Clock = std::chrono::steady_clock;

    /// `bytes`: the worker's chunks together; 0 for what does not count.
    void begin(std::size_t bytes) {
        if (bytes == 0) return;
        if (under_way_++ == 0) counted_until_ = Clock::now();
    }
    void end(std::size_t bytes) {
        if (bytes == 0) return;
        --under_way_;
        const Clock::time_point now = Clock::now();
        const auto passed =
            std::chrono::duration_cast<std::chrono::microseconds>(now - counted_until_);
        counted_until_ = now;
        busy_us_.fetch_add(static_cast<std::uint64_t>(passed.count()), std::memory_order_relaxed);
        bytes_.fetch_add(bytes, std::memory_order_relaxed);
    }

    std::uint64_t busy_us() const { return busy_us_.load(std::memory_order_relaxed); }
    std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  private:
    int under_way_ = 0;
    Clock::time_point counted_until_;
    std::atomic<std::uint64_t> busy_us_{0};
    std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace plink::engine
