#include <algorithm>
#include <cstring>

#include "engine.hpp"

namespace plink::engine {

// All of a message's notes, and all of an eager one, go on the connection of worker 0.

namespace {

Worker::Wake wake_for(const Message& message) {
    return message.carrier.expired() ? Worker::Wake::kAtOnce : Worker::Wake::kSoon;
}

}  // namespace

std::shared_ptr<Message> Engine::send(const void* data, Content content, int peer,
                                      std::uint32_t tag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_locked();
    forget_finished_locked();
    auto message = std::make_shared<Message>(peer, tag, data, content, ranks_,
                                             static_cast<int>(workers_.size()));
    if (message->is_sole()) message->carrier = workers_.front();
    {
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        unfinished_messages_.push_back(message);
    }
    if (const auto leave = rendezvous_.offer(message)) {
        begin_sending(message, *leave);
        return message;
    }
    workers_.front()->expect(1, wake_for(*message));
    if (const auto unwanted = rendezvous_.unwanted_if_asked(peer, tag)) {
        offer(peer, tag, *unwanted, wake_for(*message));
    }
    return message;
}

std::shared_ptr<Message> Engine::receive(void* data, Content content, int peer, std::uint32_t tag) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check_locked();
    forget_finished_locked();
    auto message = std::make_shared<Message>(peer, tag, data, content, ranks_,
                                             static_cast<int>(workers_.size()), 0);
    const Wish wish{tag, content.bytes, content.type};
    if (message->is_sole()) message->carrier = workers_.front();
    std::shared_ptr<Eager> eager;
    {
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        unfinished_messages_.push_back(message);
        eager = inbox_.take(message);
        if (eager) {
            message->settle(eager->peer, inbox_.next_id(eager->peer, tag));
            // It only gives credit back.
            workers_.front()->tell(eager->peer, message->id(), Note::kWant, wish,
                                   Worker::Wake::kLater);
        } else if (peer >= 0) {
            begin_receiving_locked(message, peer);
        } else {
            inbox_.await_anybody(message);
        }
        if (eager && !eager->is_whole) {
            workers_.front()->expect(1, wake_for(*message));
            return message;
        }
    }
    if (eager) {
        take_in(*eager);
    } else if (peer < 0) {
        workers_.front()->expect(1, wake_for(*message));
        for (int other = 0; other < ranks_; ++other) {
            if (other == rank_) continue;
            workers_.front()->tell(other, 0, Note::kAsk, wish, wake_for(*message));
        }
    }
    return message;
}

void Engine::hear(int peer, std::uint16_t id, Note note, const Wish& wish) {
    if (note == Note::kOffer) {
        hear_offer(peer, id, wish);
    } else if (note == Note::kAsk) {
        const auto unwanted = rendezvous_.asked(peer, wish.tag);
        if (unwanted) offer(peer, wish.tag, *unwanted, Worker::Wake::kAtOnce);
    } else {
        const Content wanted{wish.bytes, wish.type};
        const Rendezvous::Answer answer = rendezvous_.wanted(peer, {id, wish.tag, wanted});
        if (answer.gone && *answer.gone != wanted) {
            throw Mismatch("it" + unlike_text(wish.tag, wanted, *answer.gone));
        }
        if (!answer.message) return;
        workers_.front()->expect(-1);
        begin_sending(answer.message, {id, wanted});
    }
}

/// The peer has `wish.bytes` messages beyond the receives of which it had heard. Those for which
/// nobody receives now are for later ones, which ask again.
void Engine::hear_offer(int peer, std::uint16_t heard, const Wish& wish) {
    const std::lock_guard<std::mutex> messages(messages_mutex_);
    for (std::size_t left = inbox_.left_of(wish.bytes, peer, heard, wish.tag); left > 0; --left) {
        const std::shared_ptr<Message> message = inbox_.take_awaiting_anybody(wish.tag);
        if (!message) return;
        workers_.front()->expect(-1);
        begin_receiving_locked(message, peer);
    }
}

void Engine::offer(int peer, std::uint32_t tag, const Rendezvous::Unwanted& unwanted,
                   Worker::Wake wake) {
    workers_.front()->tell(peer, unwanted.heard, Note::kOffer, {tag, unwanted.messages}, wake);
}

std::shared_ptr<Eager> Engine::arrive(int peer, std::uint16_t heard, const Wish& wish) {
    const std::lock_guard<std::mutex> messages(messages_mutex_);
    std::shared_ptr<Eager> eager = inbox_.arrive(peer, heard, wish);
    if (eager->receiver && eager->receiver->peer() < 0) {
        eager->receiver->settle(peer, inbox_.next_id(peer, wish.tag));
        workers_.front()->tell(peer, eager->receiver->id(), Note::kWant, wish);
    }
    return eager;
}

void Engine::finish(const std::shared_ptr<Eager>& eager) {
    {
        const std::lock_guard<std::mutex> messages(messages_mutex_);
        if (!inbox_.finish(eager)) return;
    }
    workers_.front()->expect(-1);
    take_in(*eager);
}

/// It is whole, and its receiver known.
void Engine::take_in(const Eager& eager) {
    Message& message = *eager.receiver;
    if (eager.content != message.content) {
        leave_without_workers(eager.receiver);
        supervisor_->complain(Cause::kMismatch, eager.peer,
                              "this rank" + unlike_text(eager.tag, message.content, eager.content));
        return;
    }
    // An empty one may have no memory.
    if (eager.kept && message.bytes > 0) {
        std::memcpy(message.at(0), eager.kept.get(), message.bytes);
    }
    message.begin_part();
    message.end_part(true);
}

void Engine::begin_sending(const std::shared_ptr<Message>& message,
                           const Rendezvous::Leave& leave) {
    if (leave.content != message->content) {
        leave_without_workers(message);
        supervisor_->complain(Cause::kMismatch, message->peer(),
                              "it" + unlike_text(message->tag, leave.content, message->content));
        return;
    }
    message->settle(message->peer(), leave.id);
    post_to_workers(message);
}

/// What the peer is to be told goes in the order of its numbers.
void Engine::begin_receiving_locked(const std::shared_ptr<Message>& message, int peer) {
    message->settle(peer, inbox_.next_id(peer, message->tag));
    inbox_.await(message);
    if (message->is_eager()) {
        workers_.front()->expect(1, wake_for(*message));
    } else {
        post_to_workers(message);
    }
    workers_.front()->tell(peer, message->id(), Note::kWant,
                           {message->tag, message->content.bytes, message->content.type},
                           wake_for(*message));
}

void Engine::post_to_workers(const std::shared_ptr<Message>& message) {
    for (std::size_t i = workers_.size(); i-- > 0;) {
        if (message->share(static_cast<int>(i)).is_empty()) continue;
        if (!workers_[i]->post_message(message)) message->end_part(false);
    }
}

/// It ends with the engine, which may be ending meanwhile.
void Engine::leave_without_workers(const std::shared_ptr<Message>& message) {
    const std::lock_guard<std::mutex> messages(messages_mutex_);
    if (have_messages_ended_) {
        message->fail();
    } else {
        without_workers_.push_back(message);
    }
}

/// Nothing arrives any more.
void Engine::end_arrivals() {
    const std::lock_guard<std::mutex> messages(messages_mutex_);
    for (const auto& message : inbox_.taken_out()) message->fail();
}

/// Those that no worker has yet end without a result.
void Engine::end_messages() {
    for (const auto& message : rendezvous_.taken_out()) message->fail();
    const std::lock_guard<std::mutex> messages(messages_mutex_);
    have_messages_ended_ = true;
    for (const auto& message : without_workers_) message->fail();
    without_workers_.clear();
}

}  // namespace plink::engine
