// What the scheduler let this process do: how long it ran, and how long it had to wait.
#pragma once

#include <cstdint>

namespace plink {

struct Times {
    int64_t clock_ns = 0;  // since some moment in the past
    int64_t run_ns = 0;    // on a processor
    int64_t wait_ns =
        -1;  // ready to run, but without a processor; -1 where the kernel does not say
};

// Opens its file at once, while the process still may, and leaves it open.
class Scheduler {
  public:
    Scheduler();

    // Times since the process began.
    Times times() const;

  private:
    int file_;
};

}  // namespace plink
