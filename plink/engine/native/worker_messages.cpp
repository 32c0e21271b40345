#include <algorithm>

#include "worker.hpp"

namespace plink::engine {

bool Worker::post_message(std::shared_ptr<Message> message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopped_) return false;
    const bool may_be_carried = !message->carrier.expired();
    posted_messages_.push_back(std::move(message));
    wake_locked(may_be_carried ? Wake::kSoon : Wake::kAtOnce);
    return true;
}

void Worker::tell(int peer, std::uint16_t id, Note note, const Wish& wish, Wake wake) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_stopped_) return;
    words_.push_back({peer, id, note, wish});
    wake_locked(wake);
}

void Worker::expect(int more, Wake wake) {
    const std::lock_guard<std::mutex> lock(mutex_);
    expected_ += more;
    wake_locked(wake);
}

/// Somebody is to look at what was posted.
void Worker::wake_locked(Wake wake) {
    if (driver_ != Driver::kNobody) {
        if (driving_thread_ == std::this_thread::get_id()) {
            is_posted_by_driver_ = true;
        } else {
            alarm_.ring();
        }
    } else if (wake == Wake::kAtOnce) {
        wake_up_.call();
    } else if (wake == Wake::kSoon && !is_called_soon_) {
        is_called_soon_ = true;
        wake_up_.call_in(kUntilWaitedFor);
    }
}

void Worker::drive_locked(Driver driver) {
    driver_ = driver;
    driving_thread_ = std::this_thread::get_id();
    is_called_soon_ = false;
}

const InFlight* Worker::find_message(int peer, std::uint16_t id) const {
    for (const InFlight& in_flight : *this) {
        if (!in_flight.is_message || in_flight.part->frame_number() != id) continue;
        const auto& message = static_cast<const Message&>(*in_flight.part->collective());
        if (message.is_received && message.peer() == peer) return &in_flight;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool is_posted =
        std::any_of(posted_messages_.begin(), posted_messages_.end(), [&](const auto& message) {
            return message->is_received && message->peer() == peer && message->id() == id;
        });
    if (!is_posted) throw std::runtime_error("it sent a message that nobody waits for");
    return nullptr;
}

void Worker::hear(int peer, std::uint16_t id, Note note, const Wish& wish) const {
    check_for_messages();
    mailbox_.hear(peer, id, note, wish);
}

std::shared_ptr<Eager> Worker::arrive(int peer, std::uint16_t heard, const Wish& wish) const {
    check_for_messages();
    return mailbox_.arrive(peer, heard, wish);
}

void Worker::finish(const std::shared_ptr<Eager>& eager) const { mailbox_.finish(eager); }

void Worker::check_for_messages() const {
    if (index_ != 0) throw std::runtime_error("it speaks of messages on the wrong connection");
}

void Worker::begin(std::shared_ptr<Message> message) {
    message->begin_part();
    const int slot = free_slot();
    slots_[slot].part = message->part(message, index_, options_.in_order, pace_);
    const InFlight begun{slots_[slot].part.get(), &slots_[slot].outbox, slot, true};
    const auto place = std::find_if(in_flight_.begin(), in_flight_.end(),
                                    [](const InFlight& other) { return !other.is_message; });
    in_flight_.insert(place, begun);
    Connection& connection = *connections_[message->peer()];
    connection.begin(begun, false);
    connection.resume();
    attend_later(connection);
}

void Worker::tell_posted() {
    for (;;) {
        Word word;
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (words_.empty()) return;
            word = words_.front();
            words_.pop_front();
        }
        Connection& connection = *connections_[word.peer];
        connection.tell(word.id, word.note, word.wish);
        attend_later(connection);
    }
}

}  // namespace plink::engine
