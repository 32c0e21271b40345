#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.hpp"
#include "transport.hpp"

namespace plink::engine {

constexpr std::size_t kFrameBytes = 8;

/// Towards the root, or away from it.
enum class Phase : std::uint8_t { kReduce, kBroadcast };

/// What stands before each chunk on a data connection.
struct Frame {
    std::uint16_t collective;  ///< number of the collective, modulo 2^16
    std::uint16_t signature;   ///< of length, type, operation and plan, so that mismatches show
    std::uint32_t chunk;       ///< below 2^31
    Phase phase;
};

inline void encode(const Frame& frame, std::uint8_t* at) {
    put<std::uint16_t>(at, frame.collective);
    put<std::uint16_t>(at + 2, frame.signature);
    put<std::uint32_t>(at + 4, frame.chunk | (frame.phase == Phase::kBroadcast ? 0x80000000U : 0U));
}

inline Frame decode(const std::uint8_t* at) {
    const auto place = get<std::uint32_t>(at + 4);
    return {get<std::uint16_t>(at), get<std::uint16_t>(at + 2), place & 0x7fffffffU,
            place >> 31 ? Phase::kBroadcast : Phase::kReduce};
}

}  // namespace plink::engine
