#include "client_link.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "text.hpp"

namespace plink::hub {

namespace {

// Enough for one call of the system; more would only be narrowed early.
constexpr std::size_t kFramesAhead = 16;

}  // namespace

ClientLink::ClientLink(transport::Stream stream, std::uint32_t its_number, std::string its_server,
                       std::uint16_t its_incarnation, ClientState& state)
    : number(its_number),
      server(std::move(its_server)),
      incarnation(its_incarnation),
      stream_(std::move(stream)),
      opening_(stream_),
      state_(state) {}

void ClientLink::say(const Frame& frame, std::vector<std::uint8_t> payload) {
    outbox_.queue_owned(frame, std::move(payload));
}

void ClientLink::fill_outbox() {
    while (!ready_.empty() && outbox_.frames() < kFramesAhead) {
        const std::uint32_t id = ready_.front();
        ready_.pop_front();
        const ClientChunk& chunk = state_.chunks[id];
        const bool is_plain = is_initial || state_.wire == Wire::kFloat32;
        const Wire wire = is_plain ? Wire::kFloat32 : state_.wire;
        const std::size_t bytes = wire_bytes(wire, chunk.items);
        const Frame frame{Kind::kPush,      is_initial ? kInitial : std::uint8_t{0},
                          incarnation,      id,
                          state_.iteration, static_cast<std::uint32_t>(bytes)};
        const float* const from = (is_initial ? state_.values : state_.gradients) + chunk.offset;
        if (is_plain) {
            outbox_.queue(frame, from);
        } else {
            std::vector<std::uint8_t> narrowed(bytes);
            narrow(wire, narrowed.data(), from, chunk.items);
            outbox_.queue_owned(frame, std::move(narrowed));
        }
    }
}

void ClientLink::write() {
    if (!opening_.is_done()) return opening_.go_on(stream_, is_readable, is_writable);
    fill_outbox();
    if (outbox_.is_empty()) return;
    const Outbox::Sent sent = outbox_.send(stream_);
    is_writable = !sent.is_full;
    bytes_out_.fetch_add(sent.bytes, std::memory_order_relaxed);
}

void ClientLink::read() {
    if (!opening_.is_done()) return opening_.go_on(stream_, is_readable, is_writable);
    // The rest of a payload, and the header that follows it.
    const std::size_t missing = has_frame_ ? frame_.bytes - got_ : 0;
    const iovec pieces[] = {{into_ + got_, missing},
                            {header_ + header_got_, kFrameBytes - header_got_}};
    const std::size_t first = missing > 0 ? 0 : 1;
    const std::size_t asked = missing + kFrameBytes - header_got_;
    const std::size_t got = received(stream_, stream_.receive(pieces + first, 2 - first));
    is_readable = got > 0 && !stream_.is_drained(got, asked);
    bytes_in_.fetch_add(got, std::memory_order_relaxed);
    const std::size_t of_payload = std::min(got, missing);
    got_ += of_payload;
    header_got_ += got - of_payload;
    if (has_frame_ && got_ == frame_.bytes) end_frame();
    if (!has_frame_ && header_got_ == kFrameBytes) begin_frame();
}

void ClientLink::begin_frame() {
    header_got_ = 0;
    got_ = 0;
    frame_ = decode(header_);
    has_frame_ = true;
    switch (frame_.kind) {
        case Kind::kValue: {
            if (frame_.chunk >= state_.chunks.size() ||
                state_.chunks[frame_.chunk].link != number) {
                throw std::runtime_error("it sent values of a chunk that is not there");
            }
            const ClientChunk& chunk = state_.chunks[frame_.chunk];
            const bool is_unchanged = (frame_.flags & kUnchanged) != 0;
            if (frame_.bytes != (is_unchanged ? 0 : chunk.items * sizeof(float))) {
                throw std::runtime_error("it sent values of another length");
            }
            if (frame_.iteration != state_.iteration || state_.has_come[frame_.chunk]) {
                throw std::runtime_error("it sent values that nobody waits for");
            }
            state_.is_skipped = state_.is_skipped || is_unchanged;
            into_ = reinterpret_cast<std::uint8_t*>(state_.values + chunk.offset);
            break;
        }
        case Kind::kRepush:
            if (frame_.bytes != 0 || frame_.chunk >= state_.chunks.size() ||
                state_.chunks[frame_.chunk].link != number ||
                frame_.iteration != state_.iteration) {
                throw std::runtime_error("it asked for gradients that nobody has");
            }
            break;
        case Kind::kPartial:
            if (frame_.bytes != chunks.size() * sizeof(double) ||
                frame_.iteration != state_.iteration) {
                throw std::runtime_error("it sent norms that nobody waits for");
            }
            aside_.resize(frame_.bytes);
            into_ = aside_.data();
            break;
        case Kind::kError:
            if (frame_.bytes > kMostErrorBytes) {
                throw std::runtime_error("it sent an error that is too long");
            }
            aside_.resize(frame_.bytes);
            into_ = aside_.data();
            break;
        default:
            throw std::runtime_error("it sent a frame that only workers send");
    }
    if (frame_.bytes == 0) end_frame();
}

void ClientLink::end_frame() {
    has_frame_ = false;
    if (frame_.kind == Kind::kError) {
        throw ServerRefusal(transport::printable({aside_.begin(), aside_.end()}));
    }
    if (frame_.kind == Kind::kPartial) {
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            std::memcpy(&state_.squares[chunks[i]], aside_.data() + i * sizeof(double),
                        sizeof(double));
        }
        if (distance(state_.revision, frame_.chunk) > 0) {
            state_.revision = frame_.chunk;
            state_.partials = 0;
        }
        if (frame_.chunk == state_.revision) ++state_.partials;
        return;
    }
    if (frame_.kind == Kind::kRepush) return ready_.push_back(frame_.chunk);
    state_.workers = frame_.incarnation;
    state_.has_come[frame_.chunk] = 1;
    --state_.missing;
}

}  // namespace plink::hub
