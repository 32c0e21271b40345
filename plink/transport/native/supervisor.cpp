#include "supervisor.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>

namespace plink::transport {

namespace {

using Clock = Supervisor::Clock;
using namespace std::chrono_literals;

// For ranks that saw a failure to tell each other.
constexpr auto kSettling = 5s;
// For the control connection to explain why a data connection ended.
constexpr auto kExplaining = 2s;
// For the last words to reach the peers' hosts.
constexpr auto kFarewell = 1000ms;
// After which a collective is looked at again that is to end before a failure.
constexpr auto kDeferring = 5ms;
constexpr double kShortestBeat_s = 0.05;
constexpr double kLongestBeat_s = 5.0;
// A beat's value: how many collectives were posted, and above that the last one's signature.
constexpr int kPostedBits = 48;
constexpr std::uint64_t kPostedMask = (std::uint64_t{1} << kPostedBits) - 1;

Clock::duration in_clock(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

std::string seconds_text(double seconds) {
    std::string text = std::to_string(seconds);
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text + " s";
}

}  // namespace

Supervisor::Supervisor(int rank, std::vector<Stream> sockets, std::vector<std::string> names,
                       SupervisorOptions options, Supervised& supervised)
    : rank_(rank),
      peers_(sockets.size()),
      names_(std::move(names)),
      options_(options),
      interval_(in_clock(std::clamp(std::min(options.silence_s, options.stall_s) / 4,
                                    kShortestBeat_s, kLongestBeat_s))),
      supervised_(supervised),
      next_beat_(Clock::now() + interval_) {
    for (std::size_t peer = 0; peer < sockets.size(); ++peer) {
        peers_[peer].is_open = sockets[peer].is_open();
        peers_[peer].socket.open(std::move(sockets[peer]));
        peers_[peer].heard_at = Clock::now();
    }
    thread_ = std::thread([this] { run(); });
}

Supervisor::~Supervisor() { leave(0); }

void Supervisor::complain(Cause cause, int peer, const std::string& what) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        complaints_.push_back({cause, peer, what});
    }
    alarm_.ring();
}

void Supervisor::leave(std::uint64_t completed) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!leaves_after_) leaves_after_ = completed;
    }
    alarm_.ring();
    if (thread_.joinable()) thread_.join();
}

std::string Supervisor::name(int rank) const {
    return "rank " + std::to_string(rank) + " (" + names_[rank] + ")";
}

void Supervisor::run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        // What came with the last of the hand-shake wakes nobody.
        if (peers_[rank].is_open && peers_[rank].socket.is_encrypted())
            receive(static_cast<int>(rank));
    }
    auto attend_at = Clock::time_point::min();
    for (;;) {
        Clock::time_point until = next_beat_;
        if (!reports_.empty() && !has_settled_) until = std::min(until, settled_by_);
        for (const Peer& peer : peers_) {
            if (peer.lost_at) until = std::min(until, *peer.lost_at + kExplaining);
        }
        if (is_deferring_) until = std::min(until, Clock::now() + kDeferring);
        is_deferring_ = false;
        wait(std::min(until, attend_at));
        attend_at = letters_->attend();
        pass_on_words();
        take_complaints();
        const auto now = Clock::now();
        judge_lost(now);
        judge_leavers();
        if (now >= next_beat_) beat(now);
        settle(now);
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            if (leaves_after_) break;
        }
    }
    say_farewell();
}

/// Handles what arrives until `until`, or until something has to be judged.
void Supervisor::wait(Clock::time_point until) {
    std::vector<pollfd> polled{{alarm_.fd(), POLLIN, 0}};
    std::vector<int> ranks{-1};
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        if (!peers_[rank].is_open) continue;
        const short events = peers_[rank].socket.has_unsent() ? POLLIN | POLLOUT : POLLIN;
        polled.push_back({peers_[rank].socket.get(), events, 0});
        ranks.push_back(static_cast<int>(rank));
    }
    const auto left = std::max(until, Clock::now()) - Clock::now();
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    const timespec patience{whole.count(), (left - whole).count()};
    ::ppoll(polled.data(), polled.size(), &patience, nullptr);
    if (polled[0].revents != 0) alarm_.silence();
    for (std::size_t i = 1; i < polled.size(); ++i) {
        if (polled[i].revents & POLLOUT) peers_[ranks[i]].socket.flush();
        if (polled[i].revents & ~POLLOUT) receive(ranks[i]);
    }
}

void Supervisor::receive(int rank) {
    Peer& peer = peers_[rank];
    char bytes[4096];
    SharedStream::Received got{};
    do {
        got = peer.socket.receive(bytes, sizeof(bytes));
        if (got.bytes == 0) return close(rank, "it closed its connections");
        if (got.is_broken) close(rank, got.failure);
        if (got.bytes < 0) return;
        peer.heard_at = Clock::now();
        read_messages(rank, bytes, static_cast<std::size_t>(got.bytes));
    } while (peer.is_open && got.has_more);
}

void Supervisor::read_messages(int rank, const char* bytes, std::size_t size) {
    Peer& peer = peers_[rank];
    try {
        for (const Message& message : peer.reader.feed(bytes, size)) obey(rank, message);
    } catch (const std::runtime_error& error) {
        report(Cause::kProtocol, rank, name(rank) + " broke the protocol: " + error.what());
        peer.is_open = false;
        peer.socket.shut();
    }
}

void Supervisor::obey(int rank, const Message& message) {
    Peer& peer = peers_[rank];
    switch (message.kind) {
        case Message::Kind::kBeat:
            hear_beat(rank, message.value);
            break;
        case Message::Kind::kLeave:
            peer.left = message.value;
            peer.left_at = Clock::now();
            peer.lost_at.reset();
            least_left_ = std::min(least_left_.load(), message.value);
            letters_->leave(rank);
            words_.leave(rank);
            break;
        case Message::Kind::kAbort:
            if (message.value >= peers_.size()) {
                throw std::runtime_error("it blames a rank that does not exist");
            }
            peer.has_reported = true;
            add({message.cause, static_cast<int>(message.value), rank, message.text});
            break;
        case Message::Kind::kTell:
            words_.add(rank, message.text);
            break;
        case Message::Kind::kLetter:
            letters_->add(rank, message.text, message.value == 1);
            break;
    }
}

/// Ranks whose calls differ may all wait without a frame between them that would show it.
void Supervisor::hear_beat(int rank, std::uint64_t value) {
    const std::uint64_t posted = value & kPostedMask;
    peers_[rank].posted = posted;
    if (posted == 0) return;
    const auto ours = supervised_.signature(posted - 1);
    if (!ours || *ours == value >> kPostedBits) return;
    report(Cause::kMismatch, rank,
           name(rank) + " called another collective: " + mismatch_text(posted - 1));
}

void Supervisor::say(int rank, const Message& message) {
    Peer& peer = peers_[rank];
    if (!peer.is_open) return;
    // A peer that does not read is not worth more beats: it would not hear them in order.
    if (message.kind == Message::Kind::kBeat && peer.socket.has_unsent()) return;
    peer.socket.send(encode(message));
}

void Supervisor::say_to_all(const Message& message) {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) say(static_cast<int>(rank), message);
}

void Supervisor::pass_on_words() {
    for (std::string& text : words_.untold()) {
        say_to_all({Message::Kind::kTell, 0, Cause::kLost, text});
        words_.add(rank_, std::move(text));
    }
}

/// In the thread that posts it.
void Supervisor::carry(int rank, const std::string& letter) {
    const std::size_t most = most_text_bytes(Message::Kind::kLetter);
    bool is_sent = true;
    std::size_t begin = 0;
    do {
        const std::size_t left = letter.size() - begin;
        const std::uint64_t is_last = left <= most;
        is_sent = peers_[rank].socket.send(encode({Message::Kind::kLetter, is_last, Cause::kLost,
                                                   letter.substr(begin, std::min(left, most))}));
        begin += std::min(left, most);
    } while (begin < letter.size());
    // The supervisor's thread sends the rest.
    if (!is_sent) alarm_.ring();
}

void Supervisor::close(int rank, const std::string& how) {
    Peer& peer = peers_[rank];
    peer.is_open = false;
    peer.socket.shut();
    peer.lost_at.reset();
    if (peer.left || peer.has_reported) return;
    report(Cause::kLost, rank, name(rank) + " is lost: " + how);
}

void Supervisor::take_complaints() {
    std::vector<Complaint> complaints;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        complaints.swap(complaints_);
    }
    for (const Complaint& complaint : complaints) {
        Peer& peer = peers_[complaint.peer];
        if (complaint.cause == Cause::kProtocol) {
            report(complaint.cause, complaint.peer,
                   name(complaint.peer) + " broke the protocol: " + complaint.what);
        } else if (complaint.cause == Cause::kMismatch) {
            report(complaint.cause, complaint.peer,
                   name(complaint.peer) + " called another collective: " + complaint.what);
        } else if (!peer.left && !peer.lost_at && peer.is_open) {
            peer.lost_at = Clock::now();
            peer.lost_how = complaint.what;
        }
    }
}

void Supervisor::judge_lost(Clock::time_point now) {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        Peer& peer = peers_[rank];
        if (!peer.lost_at || now < *peer.lost_at + kExplaining) continue;
        peer.lost_at.reset();
        report(Cause::kLost, static_cast<int>(rank),
               name(static_cast<int>(rank)) + " is lost: " + peer.lost_how);
    }
}

void Supervisor::judge_leavers() {
    if (least_left_.load() == UINT64_MAX) return;
    const Pending pending = supervised_.pending();
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        const Peer& peer = peers_[rank];
        if (!peer.left || *peer.left >= pending.posted) continue;
        if (reports_.empty() && has_earlier(pending, *peer.left)) {
            is_deferring_ = true;
            continue;
        }
        report(Cause::kLeft, static_cast<int>(rank),
               name(static_cast<int>(rank)) + " closed its engine before collective " +
                   std::to_string(*peer.left));
    }
}

/// Whether something is pending that a peer took part in before it left, and may still end.
bool Supervisor::has_earlier(const Pending& pending, std::uint64_t left) const {
    if (!pending.oldest || *pending.oldest >= left) return false;
    if (Clock::now() >= pending.oldest_posted_at + in_clock(options_.stall_s)) return false;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        const Peer& peer = peers_[rank];
        if (static_cast<int>(rank) != rank_ && !peer.is_open && !peer.left) return false;
    }
    return true;
}

/// Whether the failure is that a peer has left, and something that it took part in goes on here.
bool Supervisor::may_end_first(Clock::time_point now) {
    const Report verdict = decisive(reports_);
    if (verdict.cause != Cause::kLeft || verdict.culprit == rank_) return false;
    const Peer& peer = peers_[static_cast<std::size_t>(verdict.culprit)];
    // Its last words may be on their way.
    if (!peer.left) return peer.is_open && now < settled_by_;
    return has_earlier(supervised_.pending(), *peer.left);
}

void Supervisor::beat(Clock::time_point now) {
    const Pending pending = supervised_.pending();
    const std::uint64_t signature = pending.latest_signature;
    say_to_all({Message::Kind::kBeat, pending.posted | signature << kPostedBits, Cause::kLost, ""});
    // After a stop of this process itself, its peers' silence means nothing yet.
    const bool was_stopped = now - next_beat_ > in_clock(options_.silence_s / 2);
    next_beat_ = now + interval_;
    if (!reports_.empty()) return;
    judge_left_in_messages(now, pending);
    if (was_stopped || (!pending.oldest && pending.awaited.empty())) {
        for (Peer& peer : peers_) peer.heard_at = std::max(peer.heard_at, now - interval_);
        return;
    }
    judge_silence(now, pending);
    if (pending.oldest) judge_stall(now, pending);
}

/// What a peer sent before it left may still be on its way for a while.
void Supervisor::judge_left_in_messages(Clock::time_point now, const Pending& pending) {
    for (const int rank : pending.awaited) {
        if (rank < 0) continue;
        const Peer& peer = peers_[static_cast<std::size_t>(rank)];
        if (!peer.left || now < peer.left_at + kExplaining) continue;
        report(Cause::kLeft, rank, name(rank) + " closed its engine before a message was over");
    }
}

void Supervisor::judge_silence(Clock::time_point now, const Pending&) {
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        const Peer& peer = peers_[rank];
        if (!peer.is_open || peer.left) continue;
        if (now - peer.heard_at < in_clock(options_.silence_s)) continue;
        report(Cause::kSilent, static_cast<int>(rank),
               name(static_cast<int>(rank)) + " has been silent for " +
                   seconds_text(options_.silence_s));
    }
}

void Supervisor::judge_stall(Clock::time_point now, const Pending& pending) {
    const auto since = pending.oldest_posted_at + in_clock(options_.stall_s);
    if (now < since) return;
    // What a peer said before that time may be true no more. If it says nothing, it is silent.
    for (const Peer& peer : peers_) {
        if (peer.is_open && !peer.left && peer.heard_at < since) return;
    }
    const std::string collective = "collective " + std::to_string(*pending.oldest);
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        const Peer& peer = peers_[rank];
        if (static_cast<int>(rank) == rank_ || peer.posted > *pending.oldest) continue;
        report(Cause::kStalled, static_cast<int>(rank),
               name(static_cast<int>(rank)) + " has not joined " + collective +
                   " within the timeout of " + seconds_text(options_.stall_s));
        return;
    }
    report(Cause::kStalled, rank_,
           collective + " has not ended within the timeout of " + seconds_text(options_.stall_s) +
               ", as seen by " + name(rank_));
}

void Supervisor::report(Cause cause, int culprit, const std::string& text) {
    add({cause, culprit, rank_, text});
}

/// A rank's first report is its vote, and no other counts: all must come to one verdict from the
/// same votes. Who has seen nothing itself passes on what it hears first.
void Supervisor::add(Report its) {
    const bool is_first = reports_.empty();
    const auto is_by_the_same = [&its](const Report& known) {
        return known.reporter == its.reporter;
    };
    if (std::any_of(reports_.begin(), reports_.end(), is_by_the_same)) return;
    reports_.push_back(its);
    if (!is_first) return;
    settled_by_ = Clock::now() + kSettling;
    if (its.reporter != rank_) {
        its.reporter = rank_;
        reports_.push_back(its);
    }
    say_to_all(
        {Message::Kind::kAbort, static_cast<std::uint64_t>(its.culprit), its.cause, its.text});
}

void Supervisor::settle(Clock::time_point now) {
    if (reports_.empty() || has_settled_) return;
    const auto is_silent = [this](std::size_t rank) {
        return std::any_of(reports_.begin(), reports_.end(), [rank](const Report& report) {
            return report.cause == Cause::kSilent && report.culprit == static_cast<int>(rank);
        });
    };
    bool all_known = true;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
        const Peer& peer = peers_[rank];
        if (peer.is_open && !peer.has_reported && !peer.left && !is_silent(rank)) {
            all_known = false;
        }
    }
    if (!all_known && now < settled_by_) return;
    if (may_end_first(now)) {
        is_deferring_ = true;
        return;
    }
    has_settled_ = true;
    supervised_.fail(decisive(reports_));
    words_.end();
    letters_->end();
}

/// The last words must have reached the peers' hosts before the connections are closed: the kernel
/// throws away what it has not sent when it closes a connection with something unread.
void Supervisor::say_farewell() {
    pass_on_words();
    words_.end();
    letters_->end();
    say_to_all({Message::Kind::kLeave, *leaves_after_, Cause::kLost, ""});
    const auto until = Clock::now() + kFarewell;
    for (Peer& peer : peers_) {
        if (!peer.is_open) continue;
        peer.socket.flush();
        wait_until_sent(peer.socket.get(), until);
    }
    for (Peer& peer : peers_) peer.socket.reset();
}

}  // namespace plink::transport
