// The clock, and this process's share of the host's processors.
#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>
#include <optional>

namespace plink {

constexpr int64_t kMillisecond = 1000000;
constexpr int64_t kSecond = 1000 * kMillisecond;

// Nanoseconds of a clock that never goes back.
inline int64_t now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

// Times of this process.
struct Times {
    int64_t clock_ns = 0;  // by now_ns()
    int64_t run_ns = 0;    // on a processor
    int64_t wait_ns = -1;  // ready to run without a processor; -1 where the kernel does not say
};

// Reader of the times that the scheduler keeps of this process. It opens its file at once, while
// the process still may.
class Scheduler {
  public:
    Scheduler();

    // Times since the process began.
    Times times() const;

  private:
    int file_;
};

// Processors on which the agent runs. Hosts of one machine meet on processors that the coordinator
// names: a reading would else depend on whether the scheduler puts a pair's two ends together.
class Processors {
  public:
    // Remembers where this process may run.
    Processors();

    // Runs on that processor from here on, or on any of the first ones if none is named. Does
    // nothing where the process may not run there.
    void move_to(std::optional<uint32_t> processor);

  private:
    cpu_set_t any_;
};

}  // namespace plink
