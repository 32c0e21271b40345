#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "frame.hpp"
#include "message.hpp"

namespace plink::engine {

/// An eager message that arrives, or has arrived before anybody received it.
struct Eager {
    int peer;
    std::uint32_t tag;
    Content content;
    std::shared_ptr<Message> receiver{};     ///< once it is known
    std::unique_ptr<std::uint8_t[]> kept{};  ///< its bytes, where nobody received it as it came
    std::uint64_t number = 0;                ///< in the order in which they came
    bool is_whole = false;

    std::uint8_t* into() const { return kept ? kept.get() : receiver->at(0); }
};

/// Where eager messages that come and those who receive find each other: those of one peer and tag
/// in the order of the calls.
///
/// Receives from one peer are numbered in the order in which the peer hears of them. An eager
/// message says of how many its sender had heard: it had matched these with older messages, which
/// may come later on other connections. So it is for the first receive after them.
class Inbox {
  public:
    explicit Inbox(int ranks)
        : next_id_(static_cast<std::size_t>(ranks)),
          told_(static_cast<std::size_t>(ranks)),
          kept_bytes_(static_cast<std::size_t>(ranks)) {}

    /// The number of the next receive from `peer`, which is to hear of it.
    std::uint16_t next_id(int peer, std::uint32_t tag);
    /// How many messages a peer has for which nobody receives: it has so many beyond the receives
    /// of which it had heard.
    std::size_t left_of(std::size_t messages, int peer, std::uint16_t heard, std::uint32_t tag);
    /// The oldest for `receiver` that came before it was received; null where there is none. The
    /// rest of it may be still to come, to `kept`.
    std::shared_ptr<Eager> take(const std::shared_ptr<Message>& receiver);
    /// `message` receives from its peer.
    void await(const std::shared_ptr<Message>& message);
    /// It receives from anybody.
    void await_anybody(const std::shared_ptr<Message>& message);
    /// The first that receives from anybody with that tag; it does no longer.
    std::shared_ptr<Message> take_awaiting_anybody(std::uint32_t tag);
    /// It has come otherwise.
    void forget(const Message& message);
    /// An eager message begins to come. A receiver that received from anybody is yet to be settled.
    ///
    /// Throws Mismatch where its receiver wants another length, and std::runtime_error where the
    /// peer has sent more than is kept for it.
    std::shared_ptr<Eager> arrive(int peer, std::uint16_t heard, const Wish& wish);
    /// All of it has come. Returns who receives it; null where nobody has yet.
    std::shared_ptr<Message> finish(const std::shared_ptr<Eager>& eager);
    /// All that wait for anybody, or for an eager message; none is left here.
    std::vector<std::shared_ptr<Message>> taken_out();

  private:
    using Key = std::pair<std::uint32_t, int>;  ///< tag, peer

    /// A receive of which the peer is not known to have heard.
    struct Told {
        std::uint16_t id;
        std::uint32_t tag;
    };

    std::shared_ptr<Message> receiver(int peer, std::uint16_t heard, std::uint32_t tag);
    void forget_heard(int peer, std::uint16_t heard);

    std::vector<std::uint16_t> next_id_;   ///< by peer
    std::vector<std::deque<Told>> told_;   ///< by peer, the oldest first
    std::vector<std::size_t> kept_bytes_;  ///< by peer, as `charge` counts them
    std::map<Key, std::deque<std::shared_ptr<Message>>> awaiting_;
    std::deque<std::shared_ptr<Message>> awaiting_anybody_;
    std::uint64_t come_ = 0;
    std::map<Key, std::deque<std::shared_ptr<Eager>>> unexpected_;
    std::list<std::shared_ptr<Eager>> arriving_;  ///< to a receiver
};

}  // namespace plink::engine
