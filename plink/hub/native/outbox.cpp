#include "outbox.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace plink::hub {

namespace {

constexpr std::size_t kMostFramesAtOnce = 32;

}  // namespace

void Outbox::queue(const Frame& frame, const void* data) {
    Outgoing& out = frames_.emplace_back();
    encode(frame, out.header);
    out.data = static_cast<const std::uint8_t*>(data);
    out.size = frame.bytes;
}

void Outbox::queue_owned(Frame frame, std::vector<std::uint8_t> payload) {
    frame.bytes = static_cast<std::uint32_t>(payload.size());
    queue(frame, nullptr);
    frames_.back().owned = std::move(payload);
    frames_.back().data = frames_.back().owned.data();
}

void Outbox::clear() {
    const std::size_t begun = std::max<std::size_t>(offered_, head_sent_ > 0 ? 1 : 0);
    frames_.resize(std::min(frames_.size(), begun));
}

std::size_t Outbox::bytes() const {
    std::size_t all = 0;
    for (const Outgoing& out : frames_) all += kFrameBytes + out.size;
    return all - head_sent_;
}

void Outbox::keep(Outgoing& outgoing, std::size_t sent) {
    if (!outgoing.owned.empty() || outgoing.size == 0) return;
    const std::size_t gone = sent > kFrameBytes ? sent - kFrameBytes : 0;
    outgoing.owned.resize(outgoing.size);
    std::copy(outgoing.data + gone, outgoing.data + outgoing.size, outgoing.owned.begin() + gone);
    outgoing.data = outgoing.owned.data();
}

Outbox::Sent Outbox::send(transport::Stream& stream, std::size_t most) {
    iovec pieces[2 * kMostFramesAtOnce];
    std::size_t count = 0;
    std::size_t asked = 0;
    std::size_t gathered = 0;
    for (Outgoing& out : frames_) {
        if (gathered == kMostFramesAtOnce || asked >= most) break;
        const std::size_t sent = gathered == 0 ? head_sent_ : 0;
        const std::size_t of_header = std::min(sent, kFrameBytes);
        const std::size_t of_data = sent - of_header;
        if (of_header < kFrameBytes) {
            pieces[count++] = {out.header + of_header, kFrameBytes - of_header};
        }
        if (of_data < out.size) {
            pieces[count++] = {const_cast<std::uint8_t*>(out.data) + of_data, out.size - of_data};
        }
        asked += kFrameBytes + out.size - sent;
        ++gathered;
    }
    const ssize_t taken = stream.send(pieces, count);
    if (taken < 0 && errno != EAGAIN && errno != EINTR) {
        throw ConnectionLost(stream.failure(errno));
    }
    const std::size_t bytes = taken > 0 ? static_cast<std::size_t>(taken) : 0;
    const std::size_t before = frames_.size();
    advance(bytes);
    offered_ = stream.tls() != nullptr ? gathered - (before - frames_.size()) : 0;
    if (is_changing_ && !frames_.empty()) {
        // What TLS has encrypted must be given again as it was.
        const std::size_t begun = std::max<std::size_t>(offered_, head_sent_ > 0 ? 1 : 0);
        for (std::size_t i = 0; i < begun; ++i) keep(frames_[i], i == 0 ? head_sent_ : 0);
    }
    return {bytes, stream.is_full(bytes, asked)};
}

void Outbox::advance(std::size_t bytes) {
    head_sent_ += bytes;
    while (!frames_.empty() && head_sent_ >= kFrameBytes + frames_.front().size) {
        head_sent_ -= kFrameBytes + frames_.front().size;
        frames_.pop_front();
    }
}

std::size_t received(const transport::Stream& stream, ssize_t count) {
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0) throw ConnectionLost("it closed the connection");
    if (errno == EAGAIN || errno == EINTR) return 0;
    throw ConnectionLost(stream.failure(errno));
}

}  // namespace plink::hub
