#include "rendezvous.hpp"

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

std::optional<Want> Rendezvous::offer(const std::shared_ptr<Message>& message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Key key{message->peer(), message->tag};
    std::optional<Want> want = first(wanted_, key);
    if (!want) offered_[key].push_back(message);
    return want;
}

std::shared_ptr<Message> Rendezvous::wanted(int peer, const Want& want) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const Key key{peer, want.tag};
    std::optional<std::shared_ptr<Message>> message = first(offered_, key);
    if (message) return *message;
    std::deque<Want>& wants = wanted_[key];
    if (wants.size() >= kMostWants || wanted_.size() >= kMostWants) {
        throw std::runtime_error("it wants too many messages");
    }
    wants.push_back(want);
    return nullptr;
}

int Rendezvous::asked(int peer, std::uint32_t tag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (asked_.size() >= kMostWants) throw std::runtime_error("it asks for too many messages");
    asked_.insert({peer, tag});
    const auto found = offered_.find({peer, tag});
    return found == offered_.end() ? 0 : static_cast<int>(found->second.size());
}

bool Rendezvous::is_asked(int peer, std::uint32_t tag) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return asked_.count({peer, tag}) > 0;
}

std::vector<std::shared_ptr<Message>> Rendezvous::taken_out() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<Message>> messages;
    for (auto& [key, queue] : offered_) {
        messages.insert(messages.end(), queue.begin(), queue.end());
    }
    offered_.clear();
    return messages;
}

}  // namespace plink::engine
