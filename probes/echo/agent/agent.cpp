#include "agent.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "statistics.hpp"

namespace plink {
namespace {

constexpr int64_t kMillisecond = 1000000;
constexpr int64_t kSecond = 1000 * kMillisecond;
// The coordinator says `alive` far more often than that.
constexpr int64_t kCoordinatorSilence = 60 * kSecond;
constexpr int64_t kFirstResend = 1 * kMillisecond;
constexpr int64_t kLongestResend = 20 * kMillisecond;
// Until a partner's round-trip time is known, an echo may take so long.
constexpr int64_t kFirstEchoWait = 500 * kMillisecond;
// Afterwards so much longer than the fastest, or it counts as lost.
constexpr int64_t kEchoWaitFactor = 20;
constexpr int64_t kEchoWaitExtra = 20 * kMillisecond;

int64_t now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

// Hosts of one machine meet on one processor: a pair's reading would else depend on whether the
// scheduler puts its two ends together or apart. Where it is not allowed, they stay where they are.
void move_to(uint32_t processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor % CPU_SETSIZE, &set);
    sched_setaffinity(0, sizeof set, &set);
}

// Times to send a message again: at once, then at doubling intervals.
class Resend {
  public:
    int64_t due_ns() const { return due_ns_; }
    bool is_due() const { return now_ns() >= due_ns_; }
    void sent() {
        due_ns_ = now_ns() + interval_ns_;
        interval_ns_ = std::min(interval_ns_ * 2, kLongestResend);
    }

  private:
    int64_t due_ns_ = 0;
    int64_t interval_ns_ = kFirstResend;
};

}  // namespace

int Agent::run() {
    fcntl(STDIN_FILENO, F_SETFL, fcntl(STDIN_FILENO, F_GETFL) | O_NONBLOCK);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    control_ns_ = now_ns();
    Packet packet;
    while (!control_.has_run()) next(now_ns() + kSecond, &packet);
    if (!open_socket()) return 1;
    while (!control_.has_start()) next(now_ns() + kSecond, &packet);
    std::stable_sort(run_.pairs.begin(), run_.pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.round < b.round; });
    done_.assign(run_.pairs.size(), false);
    samples_ns_.reserve(run_.count);
    if (!run_.granted) {
        for (size_t position = 0; position < run_.pairs.size(); ++position) meet(position, false);
    }
    for (;;) wait_for_grant_or_greeting();
}

bool Agent::open_socket() {
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

// Both directions of one pair: the leader probes, then the follower.
void Agent::meet(size_t position, bool greeted) {
    current_ = position;
    const Pair& pair = run_.pairs[position];
    Meeting met = greeted ? Meeting::met : leads(pair) ? greet_follower(pair) : greet_leader(pair);
    if (met == Meeting::met && leads(pair)) {
        probe(pair);
        hand_over(pair);
    } else if (met == Meeting::met) {
        send(Message::ready, pair);
        met = answer_until(pair, Message::turn);
        if (met == Meeting::met) {
            probe(pair);
            finish(pair);
        }
    }
    if (met != Meeting::met && pair.probes) report_lost(pair, met);
    done_[position] = true;
    current_ = kNoPair;
    std::printf("over %u %u\n", pair.round, pair.partner);
}

Agent::Meeting Agent::greet_follower(const Pair& pair) {
    Resend hello;
    int64_t heard_ns = now_ns();
    Packet packet;
    while (now_ns() - heard_ns < silence_ns()) {
        if (is_gone(pair)) return Meeting::gone;
        if (hello.is_due()) {
            send(Message::hello, pair, processor_);
            hello.sent();
        }
        if (!next(hello.due_ns(), &packet)) continue;
        heard_ns = now_ns();
        if (packet.message == Message::ready) return Meeting::met;
        if (packet.message == Message::past) return Meeting::gave_up;
        if (packet.message == Message::knock) send(Message::hello, pair, processor_);
    }
    return Meeting::silent;
}

Agent::Meeting Agent::greet_leader(const Pair& pair) {
    Resend knock;
    int64_t heard_ns = now_ns();
    Packet packet;
    while (now_ns() - heard_ns < silence_ns()) {
        if (is_gone(pair)) return Meeting::gone;
        if (knock.is_due()) {
            send(Message::knock, pair);
            knock.sent();
        }
        if (!next(knock.due_ns(), &packet)) continue;
        heard_ns = now_ns();
        if (packet.message == Message::hello) return Meeting::met;
        if (packet.message == Message::past) return Meeting::gave_up;
    }
    return Meeting::silent;
}

void Agent::probe(const Pair& pair) {
    if (!pair.probes) return;
    samples_ns_.clear();
    int64_t fastest_ns = 0;
    int64_t heard_ns = now_ns();
    uint32_t sent = 0;
    Packet packet;
    while (sent < run_.count && now_ns() - heard_ns < silence_ns() && !is_gone(pair)) {
        int64_t wait_ns =
            samples_ns_.empty() ? kFirstEchoWait : kEchoWaitFactor * fastest_ns + kEchoWaitExtra;
        int64_t sent_ns = now_ns();
        send(Message::probe, pair, sent);
        while (next(sent_ns + std::min(wait_ns, silence_ns()), &packet)) {
            if (packet.message != Message::echo || packet.sequence != sent) continue;
            heard_ns = received_ns_;
            int64_t rtt_ns = received_ns_ - sent_ns;
            fastest_ns = samples_ns_.empty() ? rtt_ns : std::min(fastest_ns, rtt_ns);
            samples_ns_.push_back(static_cast<uint32_t>(std::min<int64_t>(rtt_ns, UINT32_MAX)));
            break;
        }
        ++sent;
    }
    if (samples_ns_.empty()) {
        report_lost(pair, is_gone(pair) ? Meeting::gone : Meeting::silent);
        return;
    }
    std::printf("rtt %u %u %u %zu", pair.round, pair.partner, sent, samples_ns_.size());
    for (double percentile : run_.percentiles) {
        std::printf(" %u", percentile_ns(&samples_ns_, percentile));
    }
    std::printf("\n");
}

// Answers the partner's probes until it says `last`.
Agent::Meeting Agent::answer_until(const Pair& pair, Message last) {
    int64_t heard_ns = now_ns();
    Packet packet;
    while (now_ns() - heard_ns < silence_ns()) {
        if (is_gone(pair)) return Meeting::gone;
        if (!next(now_ns() + kLongestResend, &packet)) continue;
        heard_ns = now_ns();
        if (packet.message == last) return Meeting::met;
        if (packet.message == Message::hello) send(Message::ready, pair);
    }
    return Meeting::silent;
}

// The leader's last part: tells the follower to probe, and answers until it is done.
void Agent::hand_over(const Pair& pair) {
    Resend turn;
    int64_t heard_ns = now_ns();
    Packet packet;
    while (now_ns() - heard_ns < silence_ns() && !is_gone(pair)) {
        if (turn.is_due()) {
            send(Message::turn, pair);
            turn.sent();
        }
        if (!next(turn.due_ns(), &packet)) continue;
        heard_ns = now_ns();
        if (packet.message == Message::probe) {
            if (answer_until(pair, Message::over) == Meeting::met) send(Message::bye, pair);
            return;
        }
        if (packet.message == Message::over) {
            send(Message::bye, pair);
            return;
        }
    }
}

// The follower's last part: tells the leader that the pair is done. A leader that left already
// says `bye` to a late `over` as well.
void Agent::finish(const Pair& pair) {
    Resend over;
    int64_t begin_ns = now_ns();
    Packet packet;
    while (now_ns() - begin_ns < silence_ns() && !is_gone(pair)) {
        if (over.is_due()) {
            send(Message::over, pair);
            over.sent();
        }
        if (next(over.due_ns(), &packet) && packet.message == Message::bye) return;
    }
}

void Agent::wait_for_grant_or_greeting() {
    Packet packet;
    Grant grant;
    if (next(now_ns() + kSecond, &packet)) {
        move_to(packet.sequence);
        meet(position_of(packet.round), true);
    }
    while (control_.take_grant(&grant)) {
        size_t position = position_of(grant.round);
        if (position >= run_.pairs.size() || done_[position]) continue;
        processor_ = grant.processor;
        move_to(processor_);
        meet(position, false);
    }
}

void Agent::report_lost(const Pair& pair, Meeting why) const {
    const char* reason = why == Meeting::gave_up ? "gave-up"
                         : why == Meeting::gone  ? "gone"
                                                 : "silent";
    std::printf("lost %u %u %s\n", pair.round, pair.partner, reason);
}

// The next packet that concerns the current pair. Everything else is answered on the way. False at
// the deadline, and when the coordinator spoke while no pair is being met.
bool Agent::next(int64_t deadline_ns, Packet* packet) {
    for (;;) {
        int64_t left_ns = std::max<int64_t>(deadline_ns - now_ns(), 0);
        timespec left{left_ns / kSecond, left_ns % kSecond};
        pollfd waiting[2] = {{STDIN_FILENO, POLLIN, 0}, {socket_, POLLIN, 0}};
        int ready = ppoll(waiting, socket_ < 0 ? 1 : 2, &left, nullptr);
        if (ready > 0 && waiting[1].revents != 0 && take_packet(packet)) return true;
        if (ready > 0 && waiting[0].revents != 0) {
            read_control();
            if (is_idle()) return false;
        }
        int64_t time_ns = now_ns();
        if (time_ns - control_ns_ > kCoordinatorSilence) std::exit(1);
        if (time_ns >= deadline_ns) return false;
    }
}

// Reads one packet; true if the caller has to deal with it.
bool Agent::take_packet(Packet* packet) {
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
    if (is_for_current_pair(*packet) || opens_granted_pair(*packet)) return true;
    answer(*packet);
    return false;
}

bool Agent::is_for_current_pair(const Packet& packet) const {
    if (is_idle()) return false;
    const Pair& pair = run_.pairs[current_];
    return packet.round == pair.round && packet.source == pair.partner;
}

// A leader with a grant greets: an idle follower of a granted run follows at once.
bool Agent::opens_granted_pair(const Packet& packet) const {
    if (!run_.granted || !is_idle() || packet.message != Message::hello) return false;
    size_t position = position_of(packet.round);
    return position < done_.size() && !done_[position] &&
           run_.pairs[position].partner == packet.source;
}

// Answers a packet about a pair that is not being met now.
void Agent::answer(const Packet& packet) {
    if (packet.message == Message::over) return send(Message::bye, packet);
    if (packet.message != Message::hello && packet.message != Message::knock) return;
    size_t position = position_of(packet.round);
    if (position >= done_.size() || run_.pairs[position].partner != packet.source) return;
    send(done_[position] ? Message::past : Message::wait, packet);
}

void Agent::read_control() {
    Control::Status status = control_.read(&run_);
    control_ns_ = now_ns();
    if (status == Control::Status::broken) {
        std::fprintf(stderr, "does not understand %s\n", control_.broken_line().c_str());
        std::exit(2);
    }
    if (status == Control::Status::closed) std::exit(0);
}

void Agent::send(Message message, const Packet& to) {
    Wire wire = seal({message, to.round, run_.index, to.source, to.sequence}, run_.secret);
    const Endpoint& endpoint = run_.peers.find(to.source)->endpoint;
    // A packet that cannot be sent is a packet lost: silence tells.
    (void)!sendto(socket_, wire.data(), wire.size(), MSG_DONTWAIT,
                  reinterpret_cast<const sockaddr*>(&endpoint.address), endpoint.size);
}

void Agent::send(Message message, const Pair& pair, uint32_t sequence) {
    send(message, Packet{message, pair.round, pair.partner, run_.index, sequence});
}

size_t Agent::position_of(uint32_t round) const {
    auto found =
        std::lower_bound(run_.pairs.begin(), run_.pairs.end(), round,
                         [](const Pair& pair, uint32_t wanted) { return pair.round < wanted; });
    bool exists = found != run_.pairs.end() && found->round == round;
    return exists ? static_cast<size_t>(found - run_.pairs.begin()) : run_.pairs.size();
}

}  // namespace plink
