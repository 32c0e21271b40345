#pragma once

#include <cstddef>
#include <cstdint>

namespace plink::transport {

/// Whole numbers on the wire are little-endian, at any alignment.
template <typename Number>
void put(std::uint8_t* at, Number value) {
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
        at[i] = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * i));
    }
}

template <typename Number>
Number get(const std::uint8_t* at) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
        value |= static_cast<std::uint64_t>(at[i]) << (8 * i);
    }
    return static_cast<Number>(value);
}

/// FNV-1a over `size` bytes, continued from `hash`.
inline std::uint64_t mixed(std::uint64_t hash, const void* data, std::size_t size) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
    return hash;
}

constexpr std::uint64_t kHashStart = 0xcbf29ce484222325ULL;

}  // namespace plink::transport
