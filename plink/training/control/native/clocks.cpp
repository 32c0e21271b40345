#include "clocks.hpp"

#include <time.h>

#include <chrono>

namespace plink::control {

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double thread_s() {
    timespec busy{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &busy);
    return static_cast<double>(busy.tv_sec) + 1e-9 * static_cast<double>(busy.tv_nsec);
}

}  // namespace plink::control
