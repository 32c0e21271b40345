#include "agent.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "privileges.hpp"

namespace plink {
namespace {

constexpr int64_t kFirstResend = 1 * kMillisecond;
constexpr int64_t kLongestResend = 20 * kMillisecond;
// A suspect is given up so many times sooner, for each of so many suspicions.
constexpr int64_t kSuspectImpatience = 4;
constexpr int kMostSuspicions = 2;
// But not sooner than a host that lives, and is busy, may answer.
constexpr int64_t kLeastPatience = 100 * kMillisecond;
// Until a partner's round-trip time is known, an echo may take so long.
constexpr int64_t kFirstEchoWait = 500 * kMillisecond;
// Afterwards so much longer than the fastest, or it counts as lost.
constexpr int64_t kEchoWaitFactor = 20;
constexpr int64_t kEchoWaitExtra = 20 * kMillisecond;
// But no longer than that share of what the partner takes for silence: it hears nothing meanwhile.
constexpr double kEchoWaitShare = 0.75;
// Where the two ends share a machine, SSH and the coordinator have just been at work beside them,
// and a core is up to a third slower meanwhile. They need some milliseconds.
constexpr int64_t kSettling = 2 * kMillisecond;

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

// Time in which nothing was heard from the partner, less the pauses of this process itself.
class Silence {
  public:
    void heard() { since_ns_ = looked_ns_ = now_ns(); }
    // `wait_ns` is the longest that may pass from one call to the next. What goes beyond it by half
    // of the limit was a pause.
    bool is_over(int64_t limit_ns, int64_t wait_ns = kLongestResend) {
        int64_t looked_ns = std::exchange(looked_ns_, now_ns());
        int64_t late_ns = looked_ns_ - looked_ns - wait_ns;
        if (late_ns > limit_ns / 2) since_ns_ += late_ns;
        return looked_ns_ - since_ns_ >= limit_ns;
    }

  private:
    int64_t since_ns_ = now_ns();
    int64_t looked_ns_ = since_ns_;
};

// The smallest sample that at least `percentile` per cent of all samples do not exceed (nearest
// rank). Sorts `samples_ns`, which must not be empty.
uint32_t percentile_ns(std::vector<uint32_t>* samples_ns, double percentile) {
    std::sort(samples_ns->begin(), samples_ns->end());
    double rank = std::ceil(percentile / 100.0 * static_cast<double>(samples_ns->size()));
    return (*samples_ns)[rank < 1.0 ? 0 : static_cast<size_t>(rank) - 1];
}

}  // namespace

int Agent::run() {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    Packet packet;
    while (!mailbox_.control().has_run()) mailbox_.next(now_ns() + kSecond, &packet);
    if (!mailbox_.open_port() || !drop_privileges()) return 1;
    while (!mailbox_.control().has_start()) mailbox_.next(now_ns() + kSecond, &packet);
    mailbox_.start();
    samples_ns_.reserve(the_run().count);
    size_t free = the_run().granted ? 0 : the_run().pairs.size();
    for (size_t position = 0; position < free; ++position) meet(position);
    for (;;) wait_for_grant();
}

// Both directions of one pair: the leader probes, then the follower.
void Agent::meet(size_t position) {
    mailbox_.set_current(position);
    // A copy: pairs that the coordinator adds meanwhile may move the others.
    const Pair pair = the_run().pairs[position];
    Meeting met = greet(pair);
    Times began = scheduler_.times();
    if (met == Meeting::met && leads(pair)) {
        probe(pair);
        hand_over(pair);
    } else if (met == Meeting::met) {
        mailbox_.send(Message::ready, pair);
        met = answer_until(pair, Message::turn, patience_ns(pair));
        if (met == Meeting::met) {
            probe(pair);
            finish(pair);
        }
    }
    if (met != Meeting::met && pair.probes) report_lost(pair, met);
    mailbox_.finish_current();
    report_over(pair, began);
}

// How long a greeting may go unanswered. A host that lives answers at once, if only `wait`. Either
// end may be the one that is not heard.
int64_t Agent::patience_ns(const Pair& pair) const {
    int64_t patience_ns = silence_ns();
    int suspicions = the_run().peers.find(pair.partner)->suspected;
    suspicions = std::min(std::max(suspicions, the_run().suspected), kMostSuspicions);
    for (int i = 0; i < suspicions; ++i) patience_ns /= kSuspectImpatience;
    return std::max(patience_ns, std::min(silence_ns(), kLeastPatience));
}

// Calls the partner until it is at this pair, too.
Agent::Meeting Agent::greet(const Pair& pair) {
    const Message call = leads(pair) ? Message::hello : Message::knock;
    const Message welcome = leads(pair) ? Message::ready : Message::hello;
    Resend resend;
    Silence silence;
    Packet packet;
    while (!silence.is_over(patience_ns(pair))) {
        if (is_gone(pair)) return Meeting::gone;
        if (resend.is_due()) {
            mailbox_.send(call, pair);
            resend.sent();
        }
        if (!mailbox_.next(resend.due_ns(), &packet)) continue;
        silence.heard();
        if (packet.message == welcome) return Meeting::met;
        if (packet.message == Message::past) return Meeting::gave_up;
        if (packet.message == Message::knock && leads(pair)) mailbox_.send(Message::hello, pair);
    }
    return Meeting::silent;
}

void Agent::probe(const Pair& pair) {
    if (!pair.probes) return;
    samples_ns_.clear();
    auto longest_ns = static_cast<int64_t>(kEchoWaitShare * static_cast<double>(silence_ns()));
    int64_t fastest_ns = 0;
    Silence silence;
    uint32_t sent = 0;
    Packet packet;
    for (; sent < the_run().count && !is_gone(pair); ++sent) {
        if (silence.is_over(silence_ns(), longest_ns)) break;
        int64_t wait_ns =
            samples_ns_.empty() ? kFirstEchoWait : kEchoWaitFactor * fastest_ns + kEchoWaitExtra;
        int64_t sent_ns = now_ns();
        mailbox_.send(Message::probe, pair, sent);
        while (mailbox_.next(sent_ns + std::min(wait_ns, longest_ns), &packet)) {
            if (packet.message != Message::echo || packet.sequence != sent) continue;
            silence.heard();
            int64_t rtt_ns = mailbox_.received_ns() - sent_ns;
            fastest_ns = samples_ns_.empty() ? rtt_ns : std::min(fastest_ns, rtt_ns);
            samples_ns_.push_back(static_cast<uint32_t>(std::min<int64_t>(rtt_ns, UINT32_MAX)));
            break;
        }
    }
    // Few samples of a partner that left are no reading of the network.
    if (samples_ns_.empty() || sent < the_run().count) {
        return report_lost(pair, is_gone(pair) ? Meeting::gone : Meeting::silent);
    }
    report_rtt(pair);
}

// Answers the partner's probes until it says `last`. `patience_ns` is how long the first may take.
Agent::Meeting Agent::answer_until(const Pair& pair, Message last, int64_t patience_ns) {
    Silence silence;
    Packet packet;
    while (!silence.is_over(patience_ns)) {
        if (is_gone(pair)) return Meeting::gone;
        if (!mailbox_.next(now_ns() + kLongestResend, &packet)) continue;
        silence.heard();
        if (packet.message == last) return Meeting::met;
        if (packet.message == Message::probe) patience_ns = silence_ns();
        if (packet.message == Message::hello) mailbox_.send(Message::ready, pair);
    }
    return Meeting::silent;
}

// The leader's last part: tells the follower to probe, and answers until it is done.
void Agent::hand_over(const Pair& pair) {
    Resend turn;
    Silence silence;
    Packet packet;
    while (!silence.is_over(silence_ns()) && !is_gone(pair)) {
        if (turn.is_due()) {
            mailbox_.send(Message::turn, pair);
            turn.sent();
        }
        if (!mailbox_.next(turn.due_ns(), &packet)) continue;
        silence.heard();
        if (packet.message == Message::probe) {
            if (answer_until(pair, Message::over, silence_ns()) == Meeting::met)
                mailbox_.send(Message::bye, pair);
            return;
        }
        if (packet.message == Message::over) {
            mailbox_.send(Message::bye, pair);
            return;
        }
    }
}

// The follower's last part: tells the leader that the pair is done. A leader that left already
// says `bye` to a late `over` as well.
void Agent::finish(const Pair& pair) {
    Resend over;
    Silence silence;
    Packet packet;
    while (!silence.is_over(silence_ns()) && !is_gone(pair)) {
        if (over.is_due()) {
            mailbox_.send(Message::over, pair);
            over.sent();
        }
        if (mailbox_.next(over.due_ns(), &packet) && packet.message == Message::bye) return;
    }
}

void Agent::wait_for_grant() {
    Packet packet;
    Grant grant;
    mailbox_.next(now_ns() + kSecond, &packet);
    while (mailbox_.control().take_grant(&grant)) {
        size_t position = mailbox_.position_of(grant.round);
        if (!mailbox_.is_open(position)) continue;
        processors_.move_to(grant.processor);
        if (grant.processor) settle();
        meet(position);
    }
}

// Sleeps until the machine is quiet again.
void Agent::settle() {
    Packet packet;
    for (int64_t end_ns = now_ns() + kSettling; now_ns() < end_ns;) {
        mailbox_.next(end_ns, &packet);
    }
}

// What is written wakes SSH and the coordinator, perhaps on this very machine: nothing is, before
// both directions are measured.
void Agent::report_rtt(const Pair& pair) {
    for (uint32_t number :
         {pair.round, pair.partner, the_run().count, static_cast<uint32_t>(samples_ns_.size())}) {
        report_ += (report_.empty() ? "rtt " : " ") + std::to_string(number);
    }
    for (double percentile : the_run().percentiles) {
        report_ += " " + std::to_string(percentile_ns(&samples_ns_, percentile));
    }
    report_ += "\n";
}

void Agent::report_lost(const Pair& pair, Meeting why) {
    const char* reason = why == Meeting::gave_up ? "gave-up"
                         : why == Meeting::gone  ? "gone"
                                                 : "silent";
    report_ += "lost " + std::to_string(pair.round) + " " + std::to_string(pair.partner) + " " +
               reason + "\n";
}

// All there is to say of a meeting, and last what it took of this host, the greeting aside.
void Agent::report_over(const Pair& pair, const Times& began) {
    constexpr int64_t kMicrosecond = 1000;
    Times now = scheduler_.times();
    std::fputs(report_.c_str(), stdout);
    report_.clear();
    std::printf("over %u %u %lld %lld ", pair.round, pair.partner,
                static_cast<long long>((now.clock_ns - began.clock_ns) / kMicrosecond),
                static_cast<long long>((now.run_ns - began.run_ns) / kMicrosecond));
    if (now.wait_ns < 0) {
        std::puts("-");
    } else {
        std::printf("%lld\n", static_cast<long long>((now.wait_ns - began.wait_ns) / kMicrosecond));
    }
}

}  // namespace plink
