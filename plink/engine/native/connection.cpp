#include "connection.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace plink::engine {

namespace {

// Below this a copy costs less than a system call of its own.
constexpr std::size_t kDirectBytes = 4096;
// Read with a header, in case the payload is small.
constexpr std::size_t kSpeculativeBytes = 16384;
constexpr std::size_t kMostFramesAtOnce = 16;
constexpr std::size_t kMostBytesAtOnce = std::size_t{512} << 10;

}  // namespace

Connection::Connection(Descriptor socket, int its_peer)
    : peer(its_peer), socket_(std::move(socket)) {}

void Connection::begin(const InFlight& in_flight) {
    const Share& share = in_flight.part->share();
    Lane& lane = lanes_[in_flight.slot];
    lane.leaves = &share.leaves[peer];
    lane.next_leaf = 0;
    lane.ready = {};
    lane.unpicked = share.sends[peer];
}

void Connection::queue(int slot, std::uint32_t chunk, Phase phase) {
    lanes_[slot].ready.emplace(chunk, phase);
}

Connection::Ready Connection::Lane::take() {
    if (next_leaf < leaves->size()) {
        const Ready leaf{(*leaves)[next_leaf], Phase::kReduce};
        if (ready.empty() || leaf < ready.top()) {
            ++next_leaf;
            return leaf;
        }
    }
    const Ready first = ready.top();
    ready.pop();
    return first;
}

bool Connection::can_write(const Flight& flight) const {
    if (!is_writable || is_lost) return false;
    if (batch_head_ < batch_.size()) return true;
    for (const InFlight& in_flight : flight) {
        const Lane& lane = lanes_[in_flight.slot];
        if (lane.unpicked > 0) return lane.has_next();
    }
    return false;
}

std::size_t Connection::received(ssize_t count) {
    if (count > 0) {
        bytes_received_.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
        return static_cast<std::size_t>(count);
    }
    if (count == 0) throw ConnectionLost("it closed the connection");
    if (errno != EAGAIN && errno != EINTR) throw ConnectionLost(text_of(errno));
    return 0;
}

void Connection::read(Staging& staging, const Flight& flight) {
    std::uint8_t* const room = staging.bytes.get();
    std::size_t asked = 0;
    std::size_t got = 0;
    if (arrival_ && arrival_->way == Arrival::Way::kCopy && rest_.empty() &&
        arrival_->bytes_left >= kDirectBytes) {
        iovec pieces[] = {{arrival_->into, arrival_->bytes_left}, {room, kFrameBytes}};
        asked = arrival_->bytes_left + kFrameBytes;
        got = received(::readv(fd(), pieces, 2));
        const std::size_t direct = std::min(got, arrival_->bytes_left);
        arrival_->into += direct;
        arrival_->bytes_left -= direct;
        feed(room, got - direct, flight);
    } else {
        const std::size_t kept = rest_.size();
        std::copy(rest_.begin(), rest_.end(), room);
        asked = std::max(arrival_ ? arrival_->bytes_left + kFrameBytes : 0, kSpeculativeBytes);
        asked = std::min(asked, Staging::kBytes - kept);
        got = received(::recv(fd(), room + kept, asked, 0));
        rest_.clear();
        feed(room, kept + got, flight);
    }
    // Less than asked for is all there was; the next byte raises a new event. Of a peer that has
    // hung up no event comes any more, so the end must be read.
    if (got < asked && !is_hung_up) is_readable = false;
}

void Connection::feed(const std::uint8_t* bytes, std::size_t size, const Flight& flight) {
    std::size_t used = 0;
    for (;;) {
        if (!arrival_) {
            if (size - used < kFrameBytes) break;
            const Frame frame = decode(bytes + used);
            const InFlight* const in_flight = flight.find(frame.collective);
            if (in_flight == nullptr) {
                is_paused_ = true;
                break;
            }
            arriving_ = *in_flight;
            arrival_ = arriving_.part->accept(peer, frame);
            used += kFrameBytes;
        }
        if (arrival_->bytes_left > 0) {
            used += arriving_.part->take(*arrival_, bytes + used, size - used);
            if (arrival_->bytes_left > 0) break;
        }
        arriving_.part->finish(*arrival_, *arriving_.outbox);
        arrival_.reset();
    }
    rest_.assign(bytes + used, bytes + size);
}

/// Fills the batch with what is ready, low chunks first: all ranks are about the same few, so that
/// none waits long for its children, and what has come far is still in the cache.
void Connection::pick(const Flight& flight) {
    if (batch_head_ == batch_.size() || batch_head_ >= kMostFramesAtOnce) {
        batch_.erase(batch_.begin(), batch_.begin() + static_cast<std::ptrdiff_t>(batch_head_));
        batch_head_ = 0;
    }
    std::size_t bytes = 0;
    for (std::size_t i = batch_head_; i < batch_.size(); ++i) bytes += batch_[i].size;
    for (const InFlight& in_flight : flight) {
        Lane& lane = lanes_[in_flight.slot];
        while (lane.has_next()) {
            if (batch_.size() - batch_head_ >= kMostFramesAtOnce || bytes >= kMostBytesAtOnce) {
                return;
            }
            const auto [chunk, phase] = lane.take();
            --lane.unpicked;
            const Collective& collective = *in_flight.part->collective();
            Outgoing out{{},
                         collective.at(chunk),
                         collective.schedule->deal.bytes_of(chunk),
                         in_flight.part,
                         chunk,
                         phase};
            encode(
                {static_cast<std::uint16_t>(collective.number), collective.signature, chunk, phase},
                out.header);
            bytes += out.size;
            batch_.push_back(out);
        }
        // The frames of a collective on a connection all go before those of the next.
        if (lane.unpicked > 0) return;
    }
}

void Connection::write(const Flight& flight) {
    pick(flight);
    if (batch_head_ == batch_.size()) return;
    iovec pieces[2 * kMostFramesAtOnce];
    std::size_t count = 0;
    std::size_t asked = 0;
    std::size_t skip = head_sent_;
    for (std::size_t i = batch_head_; i < batch_.size(); ++i) {
        Outgoing& out = batch_[i];
        const std::size_t of_header = std::min(skip, kFrameBytes);
        const std::size_t of_data = skip - of_header;
        if (of_header < kFrameBytes) {
            pieces[count++] = {out.header + of_header, kFrameBytes - of_header};
        }
        pieces[count++] = {const_cast<std::uint8_t*>(out.data) + of_data, out.size - of_data};
        asked += kFrameBytes + out.size - skip;
        skip = 0;
    }
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(fd(), &message, MSG_NOSIGNAL);
    if (sent < 0) {
        if (errno == EAGAIN || errno == EINTR) {
            is_writable = errno == EINTR;
            return;
        }
        throw ConnectionLost(text_of(errno));
    }
    bytes_sent_.fetch_add(static_cast<std::uint64_t>(sent), std::memory_order_relaxed);
    is_writable = static_cast<std::size_t>(sent) == asked;
    advance(static_cast<std::size_t>(sent));
}

void Connection::advance(std::size_t bytes) {
    while (bytes > 0) {
        const Outgoing& head = batch_[batch_head_];
        const std::size_t left = kFrameBytes + head.size - head_sent_;
        if (bytes < left) {
            head_sent_ += bytes;
            return;
        }
        bytes -= left;
        head_sent_ = 0;
        ++batch_head_;
        head.part->sent(head.chunk, head.phase);
    }
}

}  // namespace plink::engine
