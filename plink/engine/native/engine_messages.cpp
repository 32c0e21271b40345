#include <algorithm>

#include "engine.hpp"

namespace plink::engine {

namespace {

std::string size_text(const Wish& wish, std::size_t bytes) {
    return "it receives " + std::to_string(wish.bytes) + " bytes of a message with tag " +
           std::to_string(wish.tag) + ", which has " + std::to_string(bytes);
}

}  // namespace

std::shared_ptr<Message> Engine::send(const void* data, std::size_t bytes, int peer,
                                      std::uint32_t tag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_locked();
    forget_finished_locked();
    auto message = std::make_shared<Message>(peer, tag, data, bytes, ranks_,
                                             static_cast<int>(workers_.size()));
    {
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        unfinished_messages_.push_back(message);
    }
    if (const std::optional<Want> want = rendezvous_.offer(message)) {
        begin_sending(message, *want);
        return message;
    }
    workers_.front()->expect(1);
    if (rendezvous_.is_asked(peer, tag)) {
        workers_.front()->tell(peer, 0, Note::kOffer, {tag, bytes});
    }
    return message;
}

std::shared_ptr<Message> Engine::receive(void* data, std::size_t bytes, int peer,
                                         std::uint32_t tag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_locked();
    forget_finished_locked();
    auto message = std::make_shared<Message>(peer, tag, data, bytes, ranks_,
                                             static_cast<int>(workers_.size()), 0);
    {
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        unfinished_messages_.push_back(message);
        if (peer < 0) from_anybody_.push_back(message);
    }
    if (peer >= 0) {
        begin_receiving(message, peer);
        return message;
    }
    workers_.front()->expect(1);
    for (int other = 0; other < ranks_; ++other) {
        if (other != rank_) workers_.front()->tell(other, 0, Note::kAsk, {tag, bytes});
    }
    return message;
}

void Engine::hear(int peer, std::uint16_t id, Note note, const Wish& wish) {
    if (note == Note::kOffer) {
        hear_offer(peer, wish);
    } else if (note == Note::kAsk) {
        for (int left = rendezvous_.asked(peer, wish.tag); left > 0; --left) {
            workers_.front()->tell(peer, 0, Note::kOffer, wish);
        }
    } else {
        const Want want{id, wish.tag, wish.bytes};
        const std::shared_ptr<Message> message = rendezvous_.wanted(peer, want);
        if (!message) return;
        workers_.front()->expect(-1);
        begin_sending(message, want);
    }
}

/// An offer that comes late, when another rank's was taken, is for a later receive.
void Engine::hear_offer(int peer, const Wish& wish) {
    std::shared_ptr<Message> message;
    {
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        const auto found =
            std::find_if(from_anybody_.begin(), from_anybody_.end(),
                         [&wish](const auto& other) { return other->tag == wish.tag; });
        if (found == from_anybody_.end()) return;
        message = *found;
        from_anybody_.erase(found);
    }
    workers_.front()->expect(-1);
    begin_receiving(message, peer);
}

void Engine::begin_sending(const std::shared_ptr<Message>& message, const Want& want) {
    if (want.bytes != message->bytes) {
        supervisor_->complain(Cause::kMismatch, message->peer(),
                              size_text({want.tag, want.bytes}, message->bytes));
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        without_workers_.push_back(message);
        return;
    }
    message->settle(message->peer(), want.id);
    for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (message->share(static_cast<int>(i)).is_empty()) continue;
        if (!workers_[i]->post_message(message)) message->end_part(false);
    }
}

/// Worker 0 tells the sender, when all others know what will come.
void Engine::begin_receiving(const std::shared_ptr<Message>& message, int peer) {
    {
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        message->settle(peer, next_id_[static_cast<std::size_t>(peer)]++);
    }
    for (std::size_t i = workers_.size(); i-- > 0;) {
        if (message->share(static_cast<int>(i)).is_empty()) continue;
        if (!workers_[i]->post_message(message)) message->end_part(false);
    }
}

/// Those that no worker has yet end without a result.
void Engine::end_messages() {
    for (const auto& message : rendezvous_.taken_out()) message->fail();
    const std::lock_guard<std::mutex> messages(messages_mutex_);
    for (auto* left : {&from_anybody_, &without_workers_}) {
        for (const auto& message : *left) message->fail();
        left->clear();
    }
}

}  // namespace plink::engine
