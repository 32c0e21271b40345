#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plink::hub {

constexpr std::size_t kFrameBytes = 16;

enum class Kind : std::uint8_t {
    kStep = 1,   ///< a worker, or a rack, begins an iteration: hyperparameters of every group
    kPush,       ///< a worker's gradients of a chunk
    kValue,      ///< a chunk's values after an iteration
    kRepush,     ///< the server asks for a chunk's gradients again
    kPeerSum,    ///< between servers of racks: a rack's sum of a chunk
    kPeerTotal,  ///< between servers of racks: all racks' sum of a chunk
    kError,      ///< why the connection ends
    kPull,       ///< a worker asks for the values of all chunks of the connection
    kPartial,    ///< the squared norms of the connection's chunks
    kTotal,      ///< the squared norm of all chunks of all servers
};

/// Of a push: the chunk's first values, not gradients.
constexpr std::uint8_t kInitial = 1;
/// Of a value: it is the one before, and not sent again.
constexpr std::uint8_t kUnchanged = 2;

/// What stands before every payload, little-endian.
struct Frame {
    Kind kind;
    std::uint8_t flags;
    std::uint16_t incarnation;
    std::uint32_t chunk;
    std::uint32_t iteration;
    std::uint32_t bytes;
};

void encode(const Frame& frame, std::uint8_t* into);
/// Nothing is checked but that there is such a kind: throws std::runtime_error where there is not.
Frame decode(const std::uint8_t* bytes);

/// How far `later` is after `earlier`, as numbers that wrap around.
inline std::int32_t distance(std::uint32_t earlier, std::uint32_t later) {
    return static_cast<std::int32_t>(later - earlier);
}

constexpr std::size_t kMostErrorBytes = 1024;

}  // namespace plink::hub
