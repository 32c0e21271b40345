#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plink::engine {

/// A buffer of at most so much is small: what counts is how often threads and hosts wait for each
/// other. Where its chunks have no size of their own, one worker carries all of them.
constexpr std::size_t kSmallBufferBytes = std::size_t{64} << 10;

/// So many can be told apart in a frame.
constexpr std::size_t kMostChunks = 0x3fffffffU;

/// A part of a buffer that has routes of its own.
struct Segment {
    std::size_t items;
    std::vector<std::uint32_t> routes;
    std::vector<double> weights;  ///< of these routes
};

/// How a buffer is cut into chunks, which route takes each and which worker carries it: the same
/// on every rank.
struct Deal {
    std::size_t item_bytes;
    std::vector<std::size_t> first_item;     ///< by chunk, in the whole buffer
    std::vector<std::uint32_t> chunk_items;  ///< by chunk
    std::vector<std::uint32_t> route;        ///< by chunk
    std::vector<std::uint16_t> worker;       ///< by chunk

    std::uint32_t chunks() const { return static_cast<std::uint32_t>(route.size()); }
    std::size_t offset_bytes(std::uint32_t chunk) const { return first_item[chunk] * item_bytes; }
    std::size_t items_of(std::uint32_t chunk) const { return chunk_items[chunk]; }
    std::size_t bytes_of(std::uint32_t chunk) const { return items_of(chunk) * item_bytes; }
};

/// `segments`: one after another in the buffer. `chunk_bytes`: 0 for a size that suits the buffer
/// and its routes.
///
/// Throws std::invalid_argument where there would be too many chunks.
Deal make_deal(const std::vector<Segment>& segments, std::size_t item_bytes,
               std::size_t chunk_bytes, int workers);

/// The chunk size for a buffer of `size_bytes` dealt to `routes` routes.
std::size_t suitable_chunk_bytes(std::size_t size_bytes, std::size_t routes);

/// `chunks` in proportion to `weights`, by largest remainder; ties to the lower index.
std::vector<std::uint32_t> shares(const std::vector<double>& weights, std::uint32_t chunks);

}  // namespace plink::engine
