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
/// A receiver that takes a message from any rank asks all of them first; each that has one offers
/// it, and the receiver wants the first. Nothing is sent that is not wanted.
class Rendezvous {
  public:
    /// A message is to be sent. Returns the want that it answers, if there is one.
    std::optional<Want> offer(const std::shared_ptr<Message>& message);
    /// A peer wants a message. Returns the one that answers it, if there is one.
    std::shared_ptr<Message> wanted(int peer, const Want& want);
    /// A peer asks for any message with `tag`. Returns how many there are for it now.
    int asked(int peer, std::uint32_t tag);
    /// Whether a peer has asked for what can be sent from now on.
    bool is_asked(int peer, std::uint32_t tag) const;
    /// Those that nobody wants; none is left here.
    std::vector<std::shared_ptr<Message>> taken_out();

  private:
    using Key = std::pair<int, std::uint32_t>;  ///< peer, tag
    mutable std::mutex mutex_;
    std::map<Key, std::deque<std::shared_ptr<Message>>> offered_;
    std::map<Key, std::deque<Want>> wanted_;
    std::set<Key> asked_;
};

}  // namespace plink::engine
