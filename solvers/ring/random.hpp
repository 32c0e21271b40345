#pragma once

#include <cmath>
#include <cstdint>

namespace plink::ring {

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every platform, unlike <random>'s
/// distributions.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31);
    }

    /// A whole number from 0 to `bound` - 1, by multiplication (Lemire 2019): a remainder takes
    /// longer than all else here. The bias is below `bound` / 2^32.
    int below(int bound) {
        return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
    }

    /// Exponentially distributed, mean 1.
    double exponential() {
        // 53 bits, and never 0.
        return -std::log((static_cast<double>(next() >> 11) + 1.0) * 0x1p-53);
    }

  private:
    std::uint64_t state_;
};

}  // namespace plink::ring
