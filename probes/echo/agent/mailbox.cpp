#include "mailbox.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "scheduling.hpp"

namespace plink {
namespace {

// The coordinator says `alive` far more often than that.
#ifndef PLINK_COORDINATOR_SILENCE_S
#define PLINK_COORDINATOR_SILENCE_S 60
#endif

}  // namespace

Mailbox::Mailbox(Transport* transport) : transport_(*transport) {
    watch_for_silence();
    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
}

bool Mailbox::open_port() {
    Endpoint bound;
    if (!transport_.open(run_.bind, &bound)) return false;
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
        Ready ready = transport_.wait(deadline_ns, !is_idle());
        // The coordinator first: a stream of packets must not drown what it says.
        if (ready.input) {
            read_control();
            if (is_idle()) return false;
        }
        if (ready.packet && take_packet(packet)) return true;
        if (now_ns() >= deadline_ns) return false;
    }
}

// Reads one packet; true if the caller has to deal with it.
bool Mailbox::take_packet(Packet* packet) {
    uint8_t data[kPacketBytes + 1];
    Endpoint from;
    int size = transport_.receive(data, sizeof data, &from, &received_ns_);
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

// SIGALRM ends the program. An alarm also ends one that waits for its output to be read, which a
// comparison of times would never come to.
void Mailbox::watch_for_silence() { alarm(PLINK_COORDINATOR_SILENCE_S); }

void Mailbox::read_control() {
    Control::Status status = control_.read(&run_);
    // Pairs may have been added.
    done_.resize(run_.pairs.size(), false);
    watch_for_silence();
    if (status == Control::Status::broken) {
        std::fprintf(stderr, "does not understand %s\n", control_.broken_word().c_str());
        std::exit(2);
    }
    if (status == Control::Status::closed) std::exit(0);
}

void Mailbox::send(Message message, const Packet& to) {
    Wire wire = seal({message, to.round, run_.index, to.source, to.sequence}, run_.secret);
    const Endpoint& endpoint = run_.peers.find(to.source)->endpoint;
    transport_.send(endpoint, wire.data(), wire.size());
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
