#pragma once

#include <cstddef>
#include <cstdint>

#include "bytes.hpp"
#include "transport.hpp"

namespace plink::engine {

constexpr std::size_t kFrameBytes = 8;

/// What a frame is.
enum class Phase : std::uint8_t {
    kReduce,     ///< a contribution, towards the root
    kBroadcast,  ///< what the root has, away from it; or a piece of an exchange
    kNote,       ///< word of what is under way; the chunk is a `Note`
    kMessage,    ///< a piece of a message, which has the collective's place
};

enum class Note : std::uint32_t {
    kBegun,  ///< the sender has begun this collective; no payload
    kWant,   ///< it receives a message; as those below with a `Wish`
    kAsk,    ///< it would receive one with this tag from anybody
    kOffer,  ///< it has so many with this tag, beyond the wants that it had heard
    kEager,  ///< it sends one, which follows; it had heard of so many wants as the collective says
};

/// What a note about messages says.
struct Wish {
    std::uint32_t tag;
    std::uint64_t bytes;     ///< below 2^48
    std::uint16_t type = 0;  ///< of the message's elements, as the program numbers types
};

constexpr int kWishBytesBits = 48;

constexpr std::size_t kWishBytes = 12;

inline void encode(const Wish& wish, std::uint8_t* at) {
    put<std::uint32_t>(at, wish.tag);
    put<std::uint64_t>(at + 4, wish.bytes | static_cast<std::uint64_t>(wish.type)
                                                << kWishBytesBits);
}

inline Wish decode_wish(const std::uint8_t* at) {
    const auto bytes_and_type = get<std::uint64_t>(at + 4);
    return {get<std::uint32_t>(at), bytes_and_type & ((std::uint64_t{1} << kWishBytesBits) - 1),
            static_cast<std::uint16_t>(bytes_and_type >> kWishBytesBits)};
}

/// What stands before each chunk on a data connection.
struct Frame {
    std::uint16_t collective;  ///< number of the collective, modulo 2^16
    std::uint16_t signature;   ///< of length, type, operation and plan, so that mismatches show
    std::uint32_t chunk;       ///< below 2^30
    Phase phase;
};

constexpr int kChunkBits = 30;

inline void encode(const Frame& frame, std::uint8_t* at) {
    put<std::uint16_t>(at, frame.collective);
    put<std::uint16_t>(at + 2, frame.signature);
    put<std::uint32_t>(at + 4, frame.chunk | static_cast<std::uint32_t>(frame.phase) << kChunkBits);
}

inline Frame decode(const std::uint8_t* at) {
    const auto place = get<std::uint32_t>(at + 4);
    return {get<std::uint16_t>(at), get<std::uint16_t>(at + 2), place & ((1U << kChunkBits) - 1),
            static_cast<Phase>(place >> kChunkBits)};
}

}  // namespace plink::engine
