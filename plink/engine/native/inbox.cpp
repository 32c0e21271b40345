#include "inbox.hpp"

#include <algorithm>
#include <stdexcept>

#include "part.hpp"

namespace plink::engine {

namespace {

bool is_before(std::uint16_t number, std::uint16_t other) {
    return static_cast<std::int16_t>(number - other) < 0;
}

}  // namespace

std::uint16_t Inbox::next_id(int peer, std::uint32_t tag) {
    const std::uint16_t id = next_id_[static_cast<std::size_t>(peer)]++;
    told_[static_cast<std::size_t>(peer)].push_back({id, tag});
    return id;
}

std::size_t Inbox::left_of(std::size_t messages, int peer, std::uint16_t heard, std::uint32_t tag) {
    forget_heard(peer, heard);
    const auto& told = told_[static_cast<std::size_t>(peer)];
    const auto crossing = static_cast<std::size_t>(std::count_if(
        told.begin(), told.end(), [tag](const Told& receive) { return receive.tag == tag; }));
    return messages - std::min(messages, crossing);
}

void Inbox::forget_heard(int peer, std::uint16_t heard) {
    auto& told = told_[static_cast<std::size_t>(peer)];
    while (!told.empty() && is_before(told.front().id, heard)) told.pop_front();
}

std::shared_ptr<Eager> Inbox::take(const std::shared_ptr<Message>& receiver) {
    const int peer = receiver->peer();
    auto found = unexpected_.end();
    if (peer >= 0) {
        found = unexpected_.find({receiver->tag, peer});
    } else {
        for (auto of = unexpected_.lower_bound({receiver->tag, 0});
             of != unexpected_.end() && of->first.first == receiver->tag; ++of) {
            const bool is_older = found == unexpected_.end() ||
                                  of->second.front()->number < found->second.front()->number;
            if (is_older) found = of;
        }
    }
    if (found == unexpected_.end()) return nullptr;
    const std::shared_ptr<Eager> eager = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) unexpected_.erase(found);
    kept_bytes_[static_cast<std::size_t>(eager->peer)] -= charge(eager->content.bytes);
    eager->receiver = receiver;
    if (!eager->is_whole) arriving_.push_back(eager);
    return eager;
}

void Inbox::await(const std::shared_ptr<Message>& message) {
    awaiting_[{message->tag, message->peer()}].push_back(message);
}

void Inbox::await_anybody(const std::shared_ptr<Message>& message) {
    awaiting_anybody_.push_back(message);
}

std::shared_ptr<Message> Inbox::take_awaiting_anybody(std::uint32_t tag) {
    const auto found = std::find_if(awaiting_anybody_.begin(), awaiting_anybody_.end(),
                                    [tag](const auto& message) { return message->tag == tag; });
    if (found == awaiting_anybody_.end()) return nullptr;
    std::shared_ptr<Message> message = std::move(*found);
    awaiting_anybody_.erase(found);
    return message;
}

void Inbox::forget(const Message& message) {
    // A peer hears of receives in the order of their numbers.
    forget_heard(message.peer(), static_cast<std::uint16_t>(message.id() + 1));
    const auto found = awaiting_.find({message.tag, message.peer()});
    if (found == awaiting_.end()) return;
    auto& queue = found->second;
    const auto is_it = [&message](const auto& other) { return other.get() == &message; };
    queue.erase(std::remove_if(queue.begin(), queue.end(), is_it), queue.end());
    if (queue.empty()) awaiting_.erase(found);
}

std::shared_ptr<Message> Inbox::receiver(int peer, std::uint16_t heard, std::uint32_t tag) {
    const auto found = awaiting_.find({tag, peer});
    if (found == awaiting_.end()) return take_awaiting_anybody(tag);
    auto& queue = found->second;
    const auto first = std::find_if(queue.begin(), queue.end(), [heard](const auto& message) {
        return !is_before(message->id(), heard);
    });
    if (first == queue.end()) return take_awaiting_anybody(tag);
    std::shared_ptr<Message> message = std::move(*first);
    queue.erase(first);
    if (queue.empty()) awaiting_.erase(found);
    return message;
}

std::shared_ptr<Eager> Inbox::arrive(int peer, std::uint16_t heard, const Wish& wish) {
    if (wish.bytes > kMostEagerBytes) {
        throw std::runtime_error("it sent too large a message before it was asked for it");
    }
    const auto eager = std::make_shared<Eager>();
    eager->peer = peer;
    eager->tag = wish.tag;
    eager->content = {wish.bytes, wish.type};
    eager->number = come_++;
    forget_heard(peer, heard);
    eager->receiver = receiver(peer, heard, wish.tag);
    if (eager->receiver) {
        arriving_.push_back(eager);
        if (eager->receiver->content != eager->content) {
            throw Mismatch("this rank" +
                           unlike_text(wish.tag, eager->receiver->content, eager->content));
        }
        return eager;
    }
    std::size_t& kept_bytes = kept_bytes_[static_cast<std::size_t>(peer)];
    if (kept_bytes + charge(wish.bytes) > kMostKeptBytes) {
        throw std::runtime_error("it sent more than it may before it was asked for it");
    }
    kept_bytes += charge(wish.bytes);
    eager->kept.reset(new std::uint8_t[std::max<std::size_t>(1, wish.bytes)]);
    unexpected_[{wish.tag, peer}].push_back(eager);
    return eager;
}

std::shared_ptr<Message> Inbox::finish(const std::shared_ptr<Eager>& eager) {
    eager->is_whole = true;
    if (eager->receiver) arriving_.remove(eager);
    return eager->receiver;
}

std::vector<std::shared_ptr<Message>> Inbox::taken_out() {
    std::vector<std::shared_ptr<Message>> messages(awaiting_anybody_.begin(),
                                                   awaiting_anybody_.end());
    for (const auto& [key, queue] : awaiting_) {
        std::copy_if(queue.begin(), queue.end(), std::back_inserter(messages),
                     [](const auto& message) { return message->is_eager(); });
    }
    for (const auto& eager : arriving_) messages.push_back(eager->receiver);
    awaiting_anybody_.clear();
    awaiting_.clear();
    unexpected_.clear();
    arriving_.clear();
    return messages;
}

}  // namespace plink::engine
