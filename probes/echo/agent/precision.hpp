// How precisely samples tell a percentile, and when to look: the rule of early stopping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plink {

// The half-width of an interval that is not known.
constexpr uint32_t kUnknownPpm = UINT32_MAX;

// The numbers of probes after which the samples are looked at, ascending; the last is `count`.
// A fixed few in geometric progression, so that looking costs little and its risk can be shared.
std::vector<uint32_t> looks_until(uint32_t count);

// Half the width of the 95 % confidence interval of a percentile, in parts per million of the
// percentile itself, rounded up: the greater of its two sides.
//
// The interval lies between two order statistics, so that nothing is assumed of the distribution
// (binomial ranks; Conover, Practical Nonparametric Statistics, §3.2). The risk is shared equally
// by `looks` looks (Bonferroni), however they turn out. Round-trip times are not independent: the
// ranks are those of a sample smaller by the factor by which the means of ten batches of "is not
// above the percentile" vary more than they would if they were (Law, Simulation Modeling and
// Analysis, §9.5).
//
// Args: `samples_ns` in the order in which they were taken. kUnknownPpm where they are too few, or
// where the percentile is 0 or 100, of which no sample tells anything for certain.
uint32_t half_width_ppm(const std::vector<uint32_t>& samples_ns, double percentile, size_t looks);

}  // namespace plink
