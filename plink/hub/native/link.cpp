#include "link.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lane.hpp"

namespace plink::hub {

namespace {

constexpr std::size_t kMostEndedBytes = std::size_t{8} << 20;

}  // namespace

Link::Link(transport::Stream stream, Lane& its_lane, std::uint32_t its_worker,
           std::uint16_t its_incarnation, int its_rack)
    : lane(its_lane),
      worker(its_worker),
      incarnation(its_incarnation),
      rack(its_rack),
      outbox(its_lane.options().mode != Mode::kSync),
      stream_(std::move(stream)),
      opening_(stream_),
      is_near_(transport::is_near(stream_.get())) {}

void Link::limit(int receive_bytes, int send_bytes) {
    if (!is_near_) return;
    if (receive_bytes != receive_bytes_) {
        receive_bytes_ = receive_bytes;
        ::setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    }
    if (send_bytes != send_bytes_) {
        send_bytes_ = send_bytes;
        transport::bound_send_buffer(fd(), send_bytes);
    }
}

std::size_t Link::unsent_bytes() const {
    int bytes = 0;
    return ::ioctl(fd(), SIOCOUTQNSD, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes)
                                                                : 0;
}

std::size_t Link::read(Scratch& scratch) {
    if (!opening_.is_done()) {
        opening_.go_on(stream_, is_readable, is_writable);
        return 0;
    }
    // The rest of a payload goes where its beginning is; what follows is used where it lies.
    std::uint8_t* const data = scratch.data();
    const std::size_t missing = has_frame_ ? frame_.bytes - payload_got_ : 0;
    const iovec pieces[] = {{payload_.get() + payload_got_, missing}, {data, Scratch::kBytes}};
    const std::size_t first = has_frame_ ? 0 : 1;
    const std::size_t asked = missing + Scratch::kBytes;
    const std::size_t got = received(stream_, stream_.receive(pieces + first, 2 - first));
    is_readable = got > 0 && !stream_.is_drained(got, asked);
    bytes_in_ += got;
    lane.figures().bytes_in += got;
    if (is_ending) {
        // An honest worker stops when it has heard why.
        ended_bytes_ += got;
        if (ended_bytes_ > kMostEndedBytes) throw ConnectionLost("it did not stop");
    }
    if (got == 0 || is_ending) return got;
    if (has_frame_) {
        const std::size_t of_payload = std::min(got, missing);
        payload_got_ += of_payload;
        if (payload_got_ < frame_.bytes) return got;
        has_frame_ = false;
        handle(frame_, payload_.get());
        feed(data, got - of_payload);
        return got;
    }
    const std::size_t before = std::exchange(header_got_, 0);
    std::memcpy(data - before, header_, before);
    feed(data - before, got + before);
    return got;
}

/// Uses what is whole, and keeps what is not.
std::size_t Link::feed(const std::uint8_t* bytes, std::size_t size) {
    std::size_t used = 0;
    while (size - used >= kFrameBytes && !is_ending) {
        begin_frame(bytes + used);
        used += kFrameBytes;
        const std::size_t here = size - used;
        if (here < frame_.bytes) {
            if (payload_room_ < frame_.bytes) {
                payload_room_ = frame_.bytes;
                payload_ = make_array<std::uint8_t>(payload_room_);
            }
            std::memcpy(payload_.get(), bytes + used, here);
            payload_got_ = here;
            has_frame_ = true;
            return size;
        }
        handle(frame_, bytes + used);
        used += frame_.bytes;
    }
    if (is_ending) return size;
    header_got_ = size - used;
    std::memcpy(header_, bytes + used, header_got_);
    return size;
}

void Link::begin_frame(const std::uint8_t* bytes) {
    frame_ = decode(bytes);
    lane.check(*this, frame_);
}

void Link::handle(const Frame& frame, const std::uint8_t* payload) {
    if (rack >= 0) return lane.hear_peer(*this, frame, payload);
    switch (frame.kind) {
        case Kind::kStep:
            lane.begin(*this, frame, payload);
            break;
        case Kind::kPush:
            lane.push(*this, frame, payload);
            break;
        case Kind::kPull:
            lane.pull(*this, frame);
            break;
        default:
            lane.total(*this, frame, payload);
    }
}

std::size_t Link::write(std::size_t most) {
    if (!opening_.is_done()) {
        opening_.go_on(stream_, is_readable, is_writable);
        return 0;
    }
    const Outbox::Sent sent = outbox.send(stream_, most);
    is_writable = !sent.is_full;
    bytes_out_ += sent.bytes;
    lane.figures().bytes_out += sent.bytes;
    return sent.bytes;
}

void Link::end(const std::string& why) {
    if (is_ending) return;
    is_ending = true;
    outbox.clear();
    const std::string text = why.substr(0, kMostErrorBytes);
    outbox.queue_owned({Kind::kError, 0, incarnation, 0, 0, 0},
                       std::vector<std::uint8_t>(text.begin(), text.end()));
}

}  // namespace plink::hub
