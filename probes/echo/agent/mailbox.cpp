#include "mailbox.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "clock.hpp"

namespace plink {
namespace {

// The coordinator says `alive` far more often than that.
constexpr int64_t kCoordinatorSilence = 60 * kSecond;

}  // namespace

Mailbox::Mailbox() : control_ns_(now_ns()) {
    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
}

bool Mailbox::open_socket() {
    socket_ = socket(run_.bind.address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto* address = reinterpret_cast<const sockaddr*>(&run_.bind.address);
    if (socket_ < 0 || bind(socket_, address, run_.bind.size) != 0) {
        std::fprintf(stderr, "cannot open its UDP port: %s\n", std::strerror(errno));
        return false;
    }
    Endpoint bound;
    bound.size = sizeof bound.address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&bound.address), &bound.size);
    std::printf("bound %u\n", bound.port());
    return true;
}

void Mailbox::start() {
    std::stable_sort(run_.pairs.begin(), run_.pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.round < b.round; });
    done_.assign(run_.pairs.size(), false);
}

void Mailbox::finish_current() {
    done_[current_] = true;
    current_ = kNoPair;
}

bool Mailbox::next(int64_t deadline_ns, Packet* packet) {
    for (;;) {
        int64_t left_ns = std::max<int64_t>(deadline_ns - now_ns(), 0);
        timespec left{left_ns / kSecond, left_ns % kSecond};
        pollfd waiting[2] = {{STDIN_FILENO, POLLIN, 0}, {socket_, POLLIN, 0}};
        int ready = ppoll(waiting, socket_ < 0 ? 1 : 2, &left, nullptr);
        // The coordinator first: a stream of packets must not drown what it says.
        if (ready > 0 && waiting[0].revents != 0) {
            read_control();
            if (is_idle()) return false;
        }
        if (ready > 0 && waiting[1].revents != 0 && take_packet(packet)) return true;
        int64_t time_ns = now_ns();
        if (time_ns - control_ns_ > kCoordinatorSilence) std::exit(1);
        if (time_ns >= deadline_ns) return false;
    }
}

// Reads one packet; true if the caller has to deal with it.
bool Mailbox::take_packet(Packet* packet) {
    uint8_t data[kPacketBytes + 1];
    Endpoint from;
    from.size = sizeof from.address;
    ssize_t size = recvfrom(socket_, data, sizeof data, MSG_DONTWAIT,
                            reinterpret_cast<sockaddr*>(&from.address), &from.size);
    received_ns_ = now_ns();
    if (size < 0 || !open(data, static_cast<size_t>(size), run_.secret, packet)) return false;
    const Peer* peer = run_.peers.find(packet->source);
    if (peer == nullptr || packet->destination != run_.index || !(from == peer->endpoint)) {
        return false;
    }
    if (packet->message == Message::probe) send(Message::echo, *packet);
    if (is_for_current_pair(*packet)) return true;
    answer(*packet);
    return false;
}

bool Mailbox::is_for_current_pair(const Packet& packet) const {
    if (is_idle()) return false;
    const Pair& pair = run_.pairs[current_];
    return packet.round == pair.round && packet.source == pair.partner;
}

// Answers a packet about a pair that is not being met now.
void Mailbox::answer(const Packet& packet) {
    if (packet.message == Message::over) return send(Message::bye, packet);
    if (packet.message != Message::hello && packet.message != Message::knock) return;
    size_t position = position_of(packet.round);
    if (position >= done_.size() || run_.pairs[position].partner != packet.source) return;
    send(done_[position] ? Message::past : Message::wait, packet);
}

void Mailbox::read_control() {
    Control::Status status = control_.read(&run_);
    // Pairs may have been added.
    done_.resize(run_.pairs.size(), false);
    control_ns_ = now_ns();
    if (status == Control::Status::broken) {
        std::fprintf(stderr, "does not understand %s\n", control_.broken_line().c_str());
        std::exit(2);
    }
    if (status == Control::Status::closed) std::exit(0);
}

void Mailbox::send(Message message, const Packet& to) {
    Wire wire = seal({message, to.round, run_.index, to.source, to.sequence}, run_.secret);
    const Endpoint& endpoint = run_.peers.find(to.source)->endpoint;
    // A packet that cannot be sent is a packet lost: silence tells.
    (void)!sendto(socket_, wire.data(), wire.size(), MSG_DONTWAIT,
                  reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.size);
}

void Mailbox::send(Message message, const Pair& pair, uint32_t sequence) {
    send(message, Packet{message, pair.round, pair.partner, run_.index, sequence});
}

size_t Mailbox::position_of(uint32_t round) const {
    auto found =
        std::lower_bound(run_.pairs.begin(), run_.pairs.end(), round,
                         [](const Pair& pair, uint32_t wanted) { return pair.round < wanted; });
    bool exists = found != run_.pairs.end() && found->round == round;
    return exists ? static_cast<size_t>(found - run_.pairs.begin()) : run_.pairs.size();
}

}  // namespace plink
