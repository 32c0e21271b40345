#include "message.hpp"

#include <algorithm>

#include "deal.hpp"

namespace plink::engine {

namespace {

constexpr std::size_t kChunkBytes = std::size_t{128} << 10;

class MessagePart final : public Part {
  public:
    MessagePart(std::shared_ptr<Message> message, int worker)
        : Part(message, worker), message_(*message) {}

    std::uint16_t frame_number() const override { return message_.id(); }
    std::optional<Wish> eager() const override {
        if (!message_.is_eager()) return std::nullopt;
        return Wish{message_.tag, message_.content.bytes, message_.content.type};
    }
    Phase ready_phase() const override { return Phase::kMessage; }

    Arrival accept(int peer, const Frame& frame) override {
        while (next_chunk_ < message_.chunks() && message_.worker(next_chunk_) != worker_) {
            ++next_chunk_;
        }
        if (!message_.is_received || peer != message_.peer() || frame.chunk != next_chunk_ ||
            next_chunk_ >= message_.chunks()) {
            refuse(frame, "comes out of turn");
        }
        ++next_chunk_;
        return {Arrival::Way::kCopy,
                message_.at(frame.chunk),
                message_.bytes_of(frame.chunk),
                frame.chunk,
                frame.phase,
                -1};
    }

    void finish(const Arrival&, Outbox&) override { --frames_in_left_; }

    Payload payload(int, std::uint32_t chunk, Phase) const override {
        return {message_.at(chunk), message_.bytes_of(chunk), 0};
    }

    void sent(int, std::uint32_t, Phase, Outbox&) override { --frames_out_left_; }

  private:
    Message& message_;
    std::uint32_t next_chunk_ = 0;
};

}  // namespace

std::string unlike_text(std::uint32_t tag, const Content& received, const Content& sent) {
    if (received.bytes == sent.bytes) {
        return " receives elements of another type than those of the message with tag " +
               std::to_string(tag);
    }
    return " receives " + std::to_string(received.bytes) + " bytes of a message with tag " +
           std::to_string(tag) + ", which has " + std::to_string(sent.bytes);
}

Message::Message(int its_peer, std::uint32_t its_tag, const void* data, Content its_content,
                 int ranks, int workers)
    // It is only read.
    : Message(its_peer, its_tag, static_cast<std::uint8_t*>(const_cast<void*>(data)), its_content,
              ranks, workers, false, 0) {}

Message::Message(int its_peer, std::uint32_t its_tag, void* data, Content its_content, int ranks,
                 int workers, std::uint16_t its_id)
    : Message(its_peer, its_tag, static_cast<std::uint8_t*>(data), its_content, ranks, workers,
              true, its_id) {}

Message::Message(int its_peer, std::uint32_t its_tag, std::uint8_t* data, Content its_content,
                 int ranks, int workers, bool its_is_received, std::uint16_t its_id)
    : Collective(0, 0, 0),
      tag(its_tag),
      content(its_content),
      bytes(its_content.bytes),
      is_received(its_is_received),
      peer_(its_peer),
      data_(data),
      workers_(workers),
      id_(its_id) {
    if (bytes / kChunkBytes >= kMostChunks) {
        throw std::invalid_argument("the message has too many chunks");
    }
    if (is_received && is_eager()) {
        // It comes by the inbox.
        expect_parts(1);
        return;
    }
    shares_.assign(workers_, Share(ranks));
    for (std::uint32_t chunk = 0; chunk < chunks(); ++chunk) {
        Share& share = shares_[worker(chunk)];
        if (is_received) {
            ++share.frames_in;
        } else {
            share.ready[its_peer].push_back(chunk);
            ++share.sends[its_peer];
            ++share.frames_out;
        }
    }
    expect_parts(parts());
}

int Message::parts() const {
    return static_cast<int>(std::count_if(shares_.begin(), shares_.end(),
                                          [](const Share& share) { return !share.is_empty(); }));
}

std::unique_ptr<Part> Message::part(const std::shared_ptr<Collective>& self, int worker, bool,
                                    Pace&) {
    return std::make_unique<MessagePart>(std::static_pointer_cast<Message>(self), worker);
}

/// One at least: the end of an empty message shows, too.
std::uint32_t Message::chunks() const {
    return std::max<std::uint32_t>(
        1, static_cast<std::uint32_t>((bytes + kChunkBytes - 1) / kChunkBytes));
}

int Message::worker(std::uint32_t chunk) const {
    return static_cast<int>(chunk % static_cast<std::uint32_t>(workers_));
}

std::uint8_t* Message::at(std::uint32_t chunk) const { return data_ + chunk * kChunkBytes; }

std::size_t Message::bytes_of(std::uint32_t chunk) const {
    return std::min(kChunkBytes, bytes - chunk * kChunkBytes);
}

}  // namespace plink::engine
