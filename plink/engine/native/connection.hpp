#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "governor.hpp"
#include "inbox.hpp"
#include "line.hpp"
#include "part.hpp"

namespace plink::engine {

/// The connection is of no more use: the peer closed it, or it broke.
struct ConnectionLost : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A collective in which a worker has a part now. Its frames stay in `slot` until it is over.
struct InFlight {
    Part* part = nullptr;
    Outbox* outbox = nullptr;
    int slot = 0;
    bool is_message = false;  ///< not in the order of collectives
    std::uint64_t number() const { return part->collective()->number; }
    int priority() const { return part->collective()->priority; }
};

/// What is in flight: messages, then collectives by priority, highest first, and oldest first among
/// equals.
class Flight {
  public:
    /// The one that a frame belongs to; none where it has not begun here yet.
    ///
    /// Throws std::runtime_error where it is over, or unheard of.
    virtual const InFlight* find(std::uint16_t collective) const = 0;
    /// The message that `peer` sends as `id`; none where it has not begun here yet.
    ///
    /// Throws std::runtime_error where nobody waits for it.
    virtual const InFlight* find_message(int peer, std::uint16_t id) const = 0;
    /// A peer says something about messages. Throws std::runtime_error where it must not.
    virtual void hear(int peer, std::uint16_t id, Note note, const Wish& wish) const = 0;
    /// As `Inbox`.
    virtual std::shared_ptr<Eager> arrive(int peer, std::uint16_t heard,
                                          const Wish& wish) const = 0;
    virtual void finish(const std::shared_ptr<Eager>& eager) const = 0;
    virtual const InFlight* begin() const = 0;
    virtual const InFlight* end() const = 0;

  protected:
    ~Flight() = default;
};

/// Room for what a worker has received and not yet used.
struct Staging {
    static constexpr std::size_t kBytes = std::size_t{512} << 10;
    std::unique_ptr<std::uint8_t[]> bytes{new std::uint8_t[kBytes]};
};

/// One connection of a worker to a peer, by TCP or through shared memory: frames go out, oldest
/// collective first, and come in.
class Connection {
  public:
    Connection(Line line, int peer);

    const int peer;
    bool is_readable = false;
    bool is_writable = false;
    bool is_hung_up = false;  ///< the peer has sent all it will send
    bool is_queued = false;   ///< for its worker's attention
    bool is_lost = false;
    int fd() const { return line_.socket.get(); }
    bool is_shared_memory() const { return line_.memory != nullptr; }
    /// None where its bytes go in the clear.
    const Tls* tls() const { return line_.socket.tls(); }
    std::uint64_t bytes_sent() const { return bytes_sent_.load(std::memory_order_relaxed); }
    std::uint64_t bytes_received() const { return bytes_received_.load(std::memory_order_relaxed); }

    /// The events of epoll(7) that it wants to be told of, edge-triggered.
    std::uint32_t watched() const;
    /// Some of them have come.
    void notice(std::uint32_t events);

    /// The part in `in_flight` begins: what it sends to this peer from the start is ready. The peer
    /// is told so if `is_told`.
    void begin(const InFlight& in_flight, bool is_told);
    void queue(int slot, std::uint32_t chunk, Phase phase);
    /// Tells the peer something about messages.
    void tell(std::uint16_t id, Note note, const Wish& wish);
    /// The next frame's collective may have begun: look again.
    void resume() {
        is_readable = is_readable || is_paused_;
        is_paused_ = false;
    }

    bool can_read() const { return is_readable && !is_paused_ && !is_lost; }
    bool can_write(const Flight& flight) const;

    /// Receives once. Throws ConnectionLost, or std::runtime_error for what the peer must not send.
    void read(Staging& staging, const Flight& flight);
    /// Sends once. Throws ConnectionLost.
    void write(const Flight& flight);

  private:
    /// What is to be sent: how early it goes, lowest first, the chunk's number, and which way.
    using Ready = std::tuple<std::uint32_t, std::uint32_t, Phase>;
    struct Lane {
        const Part* part = nullptr;
        const std::vector<std::uint32_t>* leaves = nullptr;
        Phase leaf_phase = Phase::kReduce;
        std::size_t next_leaf = 0;
        std::priority_queue<Ready, std::vector<Ready>, std::greater<Ready>> ready;
        std::uint32_t unpicked = 0;
        std::uint16_t number = 0;
        bool is_message = false;
        bool has_peer_begun = false;  ///< as far as it has told
        bool has_leaf() const {
            return next_leaf < leaves->size() && (*leaves)[next_leaf] < part->end();
        }
        bool has_next() const { return !ready.empty() || has_leaf(); }
        /// The next frame in turn.
        Ready take();
    };
    struct Outgoing {
        std::uint8_t header[kFrameBytes + kWishBytes];
        std::size_t header_bytes;
        const std::uint8_t* data;
        std::size_t size;
        Part* part;  ///< null where there is nothing but the header
        Outbox* outbox;
        std::uint32_t chunk;
        Phase phase;
    };

    void read_socket(Staging& staging, const Flight& flight);
    void read_memory(const Flight& flight);
    std::size_t feed(const std::uint8_t* bytes, std::size_t size, const Flight& flight);
    std::size_t received(ssize_t count);
    std::size_t sent(const iovec* pieces, std::size_t count, std::size_t asked);
    std::uint32_t owed(const InFlight& in_flight) const;
    std::uint64_t oldest_owed(const Flight& flight) const;
    bool may_go(const InFlight& in_flight, std::uint64_t oldest_owed) const;
    void hear_begun(std::uint16_t number);
    std::optional<std::size_t> hear_note(const Frame& frame, const std::uint8_t* bytes,
                                         std::size_t size, const Flight& flight);
    void pick(const Flight& flight);
    Ready in_turn(const Part& part, std::uint32_t chunk, Phase phase) const;
    void advance(std::size_t bytes);

    Line line_;
    bool is_paused_ = false;
    Governor governor_;  ///< of a connection over a long way
    InFlight arriving_;
    std::optional<Arrival> arrival_;
    std::shared_ptr<Eager> eager_;            ///< that arrives
    std::vector<std::uint8_t> rest_;          ///< received, and not yet used
    std::vector<Lane> lanes_;                 ///< by slot
    std::deque<Outgoing> notes_;              ///< that the peer is to be told
    std::vector<std::uint16_t> begun_there_;  ///< that the peer has told of, and not begun here
    std::vector<Outgoing> batch_;
    std::size_t batch_head_ = 0;
    std::size_t head_sent_ = 0;  ///< bytes of the head's header and payload
    std::atomic<std::uint64_t> bytes_sent_{0};
    std::atomic<std::uint64_t> bytes_received_{0};
};

}  // namespace plink::engine
