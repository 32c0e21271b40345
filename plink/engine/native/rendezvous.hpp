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
/// receiver that takes a message from any rank asks all of them first. Each that has some that wait
/// says how many it has in all, and how many wants it had heard: a note may overtake eager messages
/// and cross with wants, and be told twice, so the receiver counts what it has wanted since.
class Rendezvous {
  public:
    explicit Rendezvous(int ranks)
        : heard_(static_cast<std::size_t>(ranks)),
          credit_(static_cast<std::size_t>(ranks), kMostKeptBytes) {}

    /// Why a message may go.
    struct Leave {
        std::uint16_t id;  ///< in its frames
        Content content;   ///< that its receiver wants; its own, where nobody does yet
    };
    /// A message is to be sent. None where it waits for its receiver.
    std::optional<Leave> offer(const std::shared_ptr<Message>& message);
    /// A message is wanted.
    struct Answer {
        std::shared_ptr<Message> message;  ///< that answers it; null where it has gone, or waits
        std::optional<Content> gone;       ///< what has gone
    };
    Answer wanted(int peer, const Want& want);
    /// What may be offered to a peer.
    struct Unwanted {
        std::uint16_t heard;   ///< of the peer's wants by now
        std::size_t messages;  ///< beyond them, those that have gone, too
    };
    /// A peer asks for any message with `tag`, now and later. None where none waits.
    std::optional<Unwanted> asked(int peer, std::uint32_t tag);
    /// As `asked`; none where the peer has not asked.
    std::optional<Unwanted> unwanted_if_asked(int peer, std::uint32_t tag) const;
    /// Those that nobody wants; none is left here.
    std::vector<std::shared_ptr<Message>> taken_out();

  private:
    using Key = std::pair<int, std::uint32_t>;  ///< peer, tag
    /// What is not wanted yet.
    struct Offered {
        std::shared_ptr<Message> message;  ///< null where it has gone
        Content content;
    };

    std::optional<Unwanted> unwanted_locked(const Key& key) const;

    mutable std::mutex mutex_;
    std::vector<std::uint16_t> heard_;  ///< wants, by peer
    std::vector<std::size_t> credit_;   ///< by peer: what it keeps beside what has gone
    std::map<Key, std::deque<Offered>> offered_;
    std::map<Key, std::deque<Want>> wanted_;
    std::set<Key> asked_;
};

}  // namespace plink::engine
