// Time as the agent measures it.
#pragma once

#include <time.h>

#include <cstdint>

namespace plink {

constexpr int64_t kMillisecond = 1000000;
constexpr int64_t kSecond = 1000 * kMillisecond;

// Nanoseconds since some moment in the past; never goes back.
inline int64_t now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

}  // namespace plink
