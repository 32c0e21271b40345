#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "message.hpp"

namespace plink::engine {

/// Where messages that are to be sent and what their receivers want find each other: those of one
/// peer and tag in the order of the calls.
///
/// An eager message goes at once, as long as the receiver keeps so much; it is matched with what
/// is wanted all the same, which gives its credit back. No other goes that is not wanted. A
/// receiver that takes a message from any rank asks all of them first; each that has one that
/// waits offers it, and the receiver wants the first.
class Rendezvous {
  public:
    explicit Rendezvous(int ranks)
        : heard_(static_cast<std::size_t>(ranks)),
          credit_(static_cast<std::size_t>(ranks), kMostKeptBytes) {}

    /// Why a message may go.
    struct Leave {
        std::uint16_t id;   ///< in its frames
        std::size_t bytes;  ///< that its receiver wants; its own, where nobody does yet
    };
    /// A message is to be sent. None where it waits for its receiver.
    std::optional<Leave> offer(const std::shared_ptr<Message>& message);
    /// A message is wanted.
    struct Answer {
        std::shared_ptr<Message> message;  ///< that answers it; null where it has gone, or waits
        std::optional<std::size_t> gone_bytes;  ///< of that which has gone
    };
    Answer wanted(int peer, const Want& want);
    /// A peer asks for any message with `tag`. Returns how many wait for it now.
    int asked(int peer, std::uint32_t tag);
    /// Whether a peer has asked for what can be sent from now on.
    bool is_asked(int peer, std::uint32_t tag) const;
    /// Those that nobody wants; none is left here.
    std::vector<std::shared_ptr<Message>> taken_out();

  private:
    using Key = std::pair<int, std::uint32_t>;  ///< peer, tag
    /// What is not wanted yet.
    struct Offered {
        std::shared_ptr<Message> message;  ///< null where it has gone
        std::size_t bytes;
    };

    mutable std::mutex mutex_;
    std::vector<std::uint16_t> heard_;  ///< wants, by peer
    std::vector<std::size_t> credit_;   ///< by peer: what it keeps beside what has gone
    std::map<Key, std::deque<Offered>> offered_;
    std::map<Key, std::deque<Want>> wanted_;
    std::set<Key> asked_;
};

}  // namespace plink::engine
