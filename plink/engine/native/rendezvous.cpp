#include "rendezvous.hpp"

#include <algorithm>
#include <stdexcept>

namespace plink::engine {

namespace {

// Of one peer. A program has few receives under way; a peer must not fill the memory.
constexpr std::size_t kMostWants = 1 << 16;

/// The first of a queue in `queues`, which then is no longer there; nothing where there is none.
template <typename Queues, typename Key>
auto first(Queues& queues, const Key& key) {
    using Item = typename Queues::mapped_type::value_type;
    std::optional<Item> item;
    const auto found = queues.find(key);
    if (found == queues.end()) return item;
    item = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) queues.erase(found);
    return item;
}

}  // namespace

std::optional<Rendezvous::Leave> Rendezvous::offer(const std::shared_ptr<Message>& message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Key key{message->peer(), message->tag};
    if (const std::optional<Want> want = first(wanted_, key)) return Leave{want->id, want->content};
    const auto peer = static_cast<std::size_t>(message->peer());
    std::deque<Offered>& offered = offered_[key];
    // It overtakes none that waits.
    const bool may_go = message->is_eager() && charge(message->bytes) <= credit_[peer] &&
                        (offered.empty() || offered.back().message == nullptr);
    offered.push_back({may_go ? nullptr : message, message->content});
    if (!may_go) return std::nullopt;
    credit_[peer] -= charge(message->bytes);
    return Leave{heard_[peer], message->content};
}

Rendezvous::Answer Rendezvous::wanted(int peer, const Want& want) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++heard_[static_cast<std::size_t>(peer)];
    const Key key{peer, want.tag};
    if (const std::optional<Offered> offered = first(offered_, key)) {
        if (offered->message) return {offered->message, std::nullopt};
        credit_[static_cast<std::size_t>(peer)] += charge(offered->content.bytes);
        return {nullptr, offered->content};
    }
    std::deque<Want>& wants = wanted_[key];
    if (wants.size() >= kMostWants || wanted_.size() >= kMostWants) {
        throw std::runtime_error("it wants too many messages");
    }
    wants.push_back(want);
    return {nullptr, std::nullopt};
}

std::optional<Rendezvous::Unwanted> Rendezvous::asked(int peer, std::uint32_t tag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (asked_.size() >= kMostWants) throw std::runtime_error("it asks for too many messages");
    asked_.insert({peer, tag});
    return unwanted_locked({peer, tag});
}

std::optional<Rendezvous::Unwanted> Rendezvous::unwanted_if_asked(int peer,
                                                                  std::uint32_t tag) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (asked_.count({peer, tag}) == 0) return std::nullopt;
    return unwanted_locked({peer, tag});
}

std::optional<Rendezvous::Unwanted> Rendezvous::unwanted_locked(const Key& key) const {
    const auto found = offered_.find(key);
    // None overtakes one that waits, so the last waits where any does.
    if (found == offered_.end() || !found->second.back().message) return std::nullopt;
    return Unwanted{heard_[static_cast<std::size_t>(key.first)], found->second.size()};
}

std::vector<std::shared_ptr<Message>> Rendezvous::taken_out() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<Message>> messages;
    for (const auto& [key, queue] : offered_) {
        for (const Offered& offered : queue) {
            if (offered.message) messages.push_back(offered.message);
        }
    }
    offered_.clear();
    return messages;
}

}  // namespace plink::engine
