#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "frame.hpp"
#include "stream.hpp"

namespace plink::hub {

/// The connection is of no more use: the other end closed it, or it broke.
struct ConnectionLost : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Frames on their way out of one connection, in order. Payloads lie where they are until sent.
class Outbox {
  public:
    /// What may change before it is sent is copied once a frame is on its way in part.
    explicit Outbox(bool is_changing = false) : is_changing_(is_changing) {}

    void queue(const Frame& frame, const void* data);
    void queue_owned(Frame frame, std::vector<std::uint8_t> payload);
    /// Drops all but what is on its way in part, or may be encrypted already.
    void clear();
    bool is_empty() const { return frames_.empty(); }
    std::size_t frames() const { return frames_.size(); }
    /// That wait to be sent.
    std::size_t bytes() const;

    struct Sent {
        std::size_t bytes;
        bool is_full;  ///< the socket has no room for more
    };
    /// Sends once, about so many bytes at most. Throws ConnectionLost.
    Sent send(transport::Stream& stream, std::size_t most = kMostBytesAtOnce);

    static constexpr std::size_t kMostBytesAtOnce = std::size_t{512} << 10;

  private:
    struct Outgoing {
        std::uint8_t header[kFrameBytes];
        const std::uint8_t* data;
        std::size_t size;
        std::vector<std::uint8_t> owned;
    };

    void advance(std::size_t bytes);
    void keep(Outgoing& outgoing, std::size_t sent);

    bool is_changing_;
    std::deque<Outgoing> frames_;
    std::size_t head_sent_ = 0;  ///< bytes of the first frame, header included
    std::size_t offered_ = 0;    ///< frames that TLS has seen, and must be given again
};

/// How many bytes a call that returned `count` received, 0 where it must wait. Throws
/// ConnectionLost.
std::size_t received(const transport::Stream& stream, ssize_t count);

}  // namespace plink::hub
