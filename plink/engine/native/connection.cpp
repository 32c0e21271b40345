#include "connection.hpp"

#include <sys/epoll.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
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
// Collectives that a peer has begun and this rank has not.
constexpr std::size_t kMostTold = 4096;

bool is_not_after(std::uint16_t number, std::uint16_t other) {
    return static_cast<std::int16_t>(number - other) <= 0;
}

}  // namespace

Connection::Connection(Line line, int its_peer) : peer(its_peer), line_(std::move(line)) {
    // What came with the last of a hand-shake of TLS raises no event.
    is_readable = is_writable = is_shared_memory() || line_.socket.tls() != nullptr;
}

std::uint32_t Connection::watched() const {
    return EPOLLIN | EPOLLRDHUP | EPOLLET | (is_shared_memory() ? 0U : EPOLLOUT);
}

void Connection::notice(std::uint32_t events) {
    const std::uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
    if (events & ends) is_hung_up = true;
    if (events & (EPOLLIN | ends)) is_readable = true;
    if (events & (EPOLLOUT | EPOLLERR)) is_writable = true;
    if (is_shared_memory()) {
        line_.memory->silence_bell();
        is_writable = true;
    }
}

void Connection::begin(const InFlight& in_flight, bool is_told) {
    const Share& share = in_flight.part->share();
    const std::uint16_t number = in_flight.part->frame_number();
    lanes_.resize(std::max(lanes_.size(), static_cast<std::size_t>(in_flight.slot) + 1));
    Lane& lane = lanes_[in_flight.slot];
    lane.part = in_flight.part;
    lane.leaves = &in_flight.part->ready(peer);
    lane.leaf_phase = in_flight.part->ready_phase();
    lane.next_leaf = 0;
    lane.ready = {};
    if (line_.is_far) {
        for (const std::uint32_t chunk : *lane.leaves) {
            lane.ready.push(in_turn(*lane.part, chunk, lane.leaf_phase));
        }
        lane.next_leaf = lane.leaves->size();
    }
    lane.unpicked = share.sends[peer];
    lane.number = number;
    lane.is_message = lane.has_peer_begun = in_flight.is_message;
    if (in_flight.is_message) return;
    lane.has_peer_begun =
        std::find(begun_there_.begin(), begun_there_.end(), number) != begun_there_.end();
    const auto is_past = [number](std::uint16_t other) { return is_not_after(other, number); };
    begun_there_.erase(std::remove_if(begun_there_.begin(), begun_there_.end(), is_past),
                       begun_there_.end());
    if (!is_told || share.receives[peer] == 0) return;
    Outgoing note{{}, kFrameBytes, nullptr, 0, nullptr, nullptr, 0, Phase::kNote};
    encode({number, 0, static_cast<std::uint32_t>(Note::kBegun), Phase::kNote}, note.header);
    notes_.push_back(note);
}

void Connection::tell(std::uint16_t id, Note note, const Wish& wish) {
    Outgoing out{{}, kFrameBytes + kWishBytes, nullptr, 0, nullptr, nullptr, 0, Phase::kNote};
    encode({id, 0, static_cast<std::uint32_t>(note), Phase::kNote}, out.header);
    encode(wish, out.header + kFrameBytes);
    notes_.push_back(out);
}

void Connection::queue(int slot, std::uint32_t chunk, Phase phase) {
    Lane& lane = lanes_[slot];
    lane.ready.push(in_turn(*lane.part, chunk, phase));
}

/// Low chunks first: all ranks are about the same few, so that none waits long for its children,
/// and what has come far is still in the cache. On a long way what has the most hops before it goes
/// first: what is sent last, when nothing is left to fill the path with, then has one hop left. By
/// chunks the last ones would go hop by hop to the end, and the paths would be empty meanwhile.
Connection::Ready Connection::in_turn(const Part& part, std::uint32_t chunk, Phase phase) const {
    return {line_.is_far ? UINT32_MAX - part.hops_left(peer, chunk, phase) : 0, chunk, phase};
}

Connection::Ready Connection::Lane::take() {
    if (has_leaf()) {
        const Ready leaf{0, (*leaves)[next_leaf], leaf_phase};
        if (ready.empty() || leaf < ready.top()) {
            ++next_leaf;
            return leaf;
        }
    }
    const Ready first = ready.top();
    ready.pop();
    return first;
}

/// How many frames of it are not on their way to this peer yet.
std::uint32_t Connection::owed(const InFlight& in_flight) const {
    // A message begins on the connection to its peer only.
    const auto slot = static_cast<std::size_t>(in_flight.slot);
    return slot < lanes_.size() ? lanes_[slot].unpicked : 0;
}

/// The number of the oldest collective that owes this peer frames.
std::uint64_t Connection::oldest_owed(const Flight& flight) const {
    std::uint64_t oldest = UINT64_MAX;
    for (const InFlight& in_flight : flight) {
        if (in_flight.is_message || owed(in_flight) == 0) continue;
        oldest = std::min(oldest, in_flight.number());
    }
    return oldest;
}

/// Frames may lie in front of those of an older collective only where the peer will read them
/// whatever comes: it has begun their collective, or waits for their message.
bool Connection::may_go(const InFlight& in_flight, std::uint64_t oldest_owed) const {
    if (owed(in_flight) == 0) return false;
    const Lane& lane = lanes_[in_flight.slot];
    return lane.has_next() && (lane.has_peer_begun || in_flight.number() <= oldest_owed);
}

bool Connection::can_write(const Flight& flight) const {
    if (!is_writable || is_lost) return false;
    if (batch_head_ < batch_.size() || !notes_.empty()) return true;
    const std::uint64_t oldest = oldest_owed(flight);
    return std::any_of(flight.begin(), flight.end(),
                       [&](const InFlight& in_flight) { return may_go(in_flight, oldest); });
}

void Connection::hear_begun(std::uint16_t number) {
    for (Lane& lane : lanes_) {
        if (lane.is_message || lane.number != number || lane.unpicked == 0) continue;
        lane.has_peer_begun = true;
        return;
    }
    if (begun_there_.size() >= kMostTold) throw std::runtime_error("it tells of too much");
    begun_there_.push_back(number);
}

/// Returns how many of the bytes after its header a note has; none while they have not all come.
std::optional<std::size_t> Connection::hear_note(const Frame& frame, const std::uint8_t* bytes,
                                                 std::size_t size, const Flight& flight) {
    const auto note = static_cast<Note>(frame.chunk);
    if (note == Note::kBegun) {
        hear_begun(frame.collective);
        return 0;
    }
    if (frame.chunk > static_cast<std::uint32_t>(Note::kEager)) {
        throw std::runtime_error("it sent a note of an unknown kind");
    }
    if (size < kWishBytes) return std::nullopt;
    const Wish wish = decode_wish(bytes);
    if (note == Note::kEager) {
        eager_ = flight.arrive(peer, frame.collective, wish);
        arrival_ = {
            Arrival::Way::kCopy, eager_->into(), eager_->content.bytes, 0, Phase::kMessage, -1};
    } else {
        flight.hear(peer, frame.collective, note, wish);
    }
    return kWishBytes;
}

std::size_t Connection::received(ssize_t count) {
    if (count > 0) {
        bytes_received_.fetch_add(static_cast<std::uint64_t>(count), std::memory_order_relaxed);
        return static_cast<std::size_t>(count);
    }
    if (count == 0) throw ConnectionLost("it closed the connection");
    const int error = errno;
    if (error != EAGAIN && error != EINTR) throw ConnectionLost(line_.socket.failure(error));
    return 0;
}

void Connection::read(Staging& staging, const Flight& flight) {
    if (is_shared_memory()) {
        read_memory(flight);
    } else {
        read_socket(staging, flight);
    }
}

/// What arrives is used where it lies; what cannot be used yet stays there.
void Connection::read_memory(const Flight& flight) {
    SharedMemory& memory = *line_.memory;
    const SharedMemory::Bytes come = memory.readable();
    const std::size_t used = feed(come.data, come.size, flight);
    memory.consume(used);
    bytes_received_.fetch_add(used, std::memory_order_relaxed);
    if (is_paused_ || !memory.is_drained()) return;
    // The end was noticed before the last look, so nothing more will come.
    if (is_hung_up) throw ConnectionLost("it closed the connection");
    is_readable = false;
}

void Connection::read_socket(Staging& staging, const Flight& flight) {
    std::uint8_t* const room = staging.bytes.get();
    std::size_t asked = 0;
    std::size_t got = 0;
    if (arrival_ && arrival_->way == Arrival::Way::kCopy && rest_.empty() &&
        arrival_->bytes_left >= kDirectBytes) {
        iovec pieces[] = {{arrival_->into, arrival_->bytes_left}, {room, kFrameBytes}};
        asked = arrival_->bytes_left + kFrameBytes;
        got = received(line_.socket.receive(pieces, 2));
        const std::size_t direct = std::min(got, arrival_->bytes_left);
        arrival_->into += direct;
        arrival_->bytes_left -= direct;
        const std::size_t used = feed(room, got - direct, flight);
        rest_.assign(room + used, room + got - direct);
    } else {
        const std::size_t kept = rest_.size();
        std::copy(rest_.begin(), rest_.end(), room);
        asked = std::max(arrival_ ? arrival_->bytes_left + kFrameBytes : 0, kSpeculativeBytes);
        asked = std::min(asked, Staging::kBytes - kept);
        got = received(line_.socket.receive(room + kept, asked));
        const std::size_t used = feed(room, kept + got, flight);
        rest_.assign(room + used, room + kept + got);
    }
    // Less than asked for is all there was; the next byte raises a new event. A peer that
    // has hung up raises no more events, so the end must be read.
    if (line_.socket.is_drained(got, asked) && !is_hung_up) is_readable = false;
}

/// Returns how many of the bytes were used.
std::size_t Connection::feed(const std::uint8_t* bytes, std::size_t size, const Flight& flight) {
    std::size_t used = 0;
    for (;;) {
        if (!arrival_) {
            if (size - used < kFrameBytes) break;
            const Frame frame = decode(bytes + used);
            // What is checked must be what is used, though the peer may write to shared memory
            // meanwhile: from here on nothing is read there again.
            std::atomic_signal_fence(std::memory_order_seq_cst);
            if (frame.phase == Phase::kNote) {
                const std::size_t after = used + kFrameBytes;
                const auto heard = hear_note(frame, bytes + after, size - after, flight);
                if (!heard) break;
                used = after + *heard;
                continue;
            }
            const InFlight* const in_flight = frame.phase == Phase::kMessage
                                                  ? flight.find_message(peer, frame.collective)
                                                  : flight.find(frame.collective);
            if (in_flight == nullptr) {
                is_paused_ = true;
                break;
            }
            arriving_ = *in_flight;
            arrival_ = arriving_.part->accept(peer, frame);
            used += kFrameBytes;
        }
        if (arrival_->bytes_left > 0) {
            used += eager_ ? copy(*arrival_, bytes + used, size - used)
                           : arriving_.part->take(*arrival_, bytes + used, size - used);
            if (arrival_->bytes_left > 0) break;
        }
        if (eager_) {
            flight.finish(std::exchange(eager_, nullptr));
        } else {
            arriving_.part->finish(*arrival_, *arriving_.outbox);
        }
        arrival_.reset();
    }
    return used;
}

/// Fills the batch with what is ready.
void Connection::pick(const Flight& flight) {
    if (batch_head_ == batch_.size() || batch_head_ >= kMostFramesAtOnce) {
        batch_.erase(batch_.begin(), batch_.begin() + static_cast<std::ptrdiff_t>(batch_head_));
        batch_head_ = 0;
    }
    while (!notes_.empty() && batch_.size() - batch_head_ < kMostFramesAtOnce) {
        batch_.push_back(notes_.front());
        notes_.pop_front();
    }
    std::size_t bytes = 0;
    for (std::size_t i = batch_head_; i < batch_.size(); ++i) bytes += batch_[i].size;
    std::uint64_t oldest = oldest_owed(flight);
    for (const InFlight& in_flight : flight) {
        while (may_go(in_flight, oldest)) {
            Lane& lane = lanes_[in_flight.slot];
            if (batch_.size() - batch_head_ >= kMostFramesAtOnce || bytes >= kMostBytesAtOnce) {
                return;
            }
            [[maybe_unused]] const auto [turn, chunk, phase] = lane.take();
            --lane.unpicked;
            const Payload payload = in_flight.part->payload(peer, chunk, phase);
            Outgoing out{{},           kFrameBytes,    payload.data,
                         payload.size, in_flight.part, in_flight.outbox,
                         chunk,        phase};
            if (const std::optional<Wish> eager = in_flight.part->eager()) {
                encode({lane.number, 0, static_cast<std::uint32_t>(Note::kEager), Phase::kNote},
                       out.header);
                encode(*eager, out.header + kFrameBytes);
                out.header_bytes += kWishBytes;
            } else {
                encode({lane.number, payload.signature, chunk, phase}, out.header);
            }
            bytes += out.size;
            batch_.push_back(out);
        }
        if (owed(in_flight) == 0 && in_flight.number() == oldest) oldest = oldest_owed(flight);
    }
}

void Connection::write(const Flight& flight) {
    pick(flight);
    if (batch_head_ == batch_.size()) return;
    if (line_.is_far) governor_.look_at(fd());
    iovec pieces[2 * kMostFramesAtOnce];
    std::size_t count = 0;
    std::size_t asked = 0;
    std::size_t skip = head_sent_;
    for (std::size_t i = batch_head_; i < batch_.size(); ++i) {
        Outgoing& out = batch_[i];
        const std::size_t of_header = std::min(skip, out.header_bytes);
        const std::size_t of_data = skip - of_header;
        if (of_header < out.header_bytes) {
            pieces[count++] = {out.header + of_header, out.header_bytes - of_header};
        }
        if (out.size > of_data) {
            pieces[count++] = {const_cast<std::uint8_t*>(out.data) + of_data, out.size - of_data};
        }
        asked += out.header_bytes + out.size - skip;
        skip = 0;
    }
    const std::size_t gone = sent(pieces, count, asked);
    bytes_sent_.fetch_add(gone, std::memory_order_relaxed);
    advance(gone);
}

/// Sends once; returns how many bytes went.
std::size_t Connection::sent(const iovec* pieces, std::size_t count, std::size_t asked) {
    if (is_shared_memory()) {
        const std::size_t taken = line_.memory->write(pieces, count);
        is_writable = taken == asked || !line_.memory->is_full();
        return taken;
    }
    const ssize_t taken = line_.socket.send(pieces, count);
    if (taken < 0) {
        is_writable = errno == EINTR;
        // What the peer sent before it went can still be read, and then its end.
        if (errno != EAGAIN && errno != EINTR) is_hung_up = is_readable = true;
        return 0;
    }
    is_writable = !line_.socket.is_full(static_cast<std::size_t>(taken), asked);
    return static_cast<std::size_t>(taken);
}

void Connection::advance(std::size_t bytes) {
    while (bytes > 0) {
        const Outgoing& head = batch_[batch_head_];
        const std::size_t left = head.header_bytes + head.size - head_sent_;
        if (bytes < left) {
            head_sent_ += bytes;
            return;
        }
        bytes -= left;
        head_sent_ = 0;
        ++batch_head_;
        if (head.part != nullptr) head.part->sent(peer, head.chunk, head.phase, *head.outbox);
    }
}

}  // namespace plink::engine
