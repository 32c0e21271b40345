#pragma once

#include <limits>

namespace plink::control {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Nothing has to be looked at so seldom, and clocks count so far.
constexpr double kLongestSleep_s = 3600.0;

/// On a clock that does not go back.
double now_s();
/// Processor time of the thread that asks.
double thread_s();

}  // namespace plink::control
