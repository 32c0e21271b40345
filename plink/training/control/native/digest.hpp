#pragma once

#include <cstdint>
#include <string_view>

namespace plink::control {

/// 64 bits of which each depends on all (SplitMix64; Steele, Lea and Flood 2014, figure 17).
constexpr std::uint64_t mixed(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    return value ^ value >> 31;
}

/// CRC-32 of IEEE 802.3, as zlib computes it.
std::uint32_t crc32(std::string_view data);

/// Of bytes and the low 32 bits of a number.
inline std::uint64_t digest(std::string_view data, std::uint64_t salt) {
    return mixed(std::uint64_t{crc32(data)} << 32 | (salt & 0xFFFFFFFF));
}

}  // namespace plink::control
