#include "mesh.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "local_socket.hpp"
#include "text.hpp"

namespace plink::transport {

namespace {

using namespace std::chrono_literals;

// For another connection to the same rank to explain why one broke.
constexpr auto kExplaining = 2s;
// A caller that says nothing is no rank.
constexpr auto kSayHello = 5s;
constexpr auto kBetweenLooks = 100ms;
constexpr int kEventsAtOnce = 256;
// Numbers of what is watched beside the pending connections.
constexpr std::uint64_t kLocalListener = UINT64_MAX;
constexpr std::uint64_t kFirstListener = std::uint64_t{1} << 63;
// Who breaks off the hand-shake of TLS so often has not too many callers, but does not use TLS.
constexpr int kMostTlsTries = 5;

/// Whether a call failed because the other side closed the connection.
bool is_drop(int error) { return error == ECONNRESET || error == EPIPE; }

// A hand-shake's record, of any version (RFC 8446, §5.1).
bool is_begun_tls(const std::string& words) {
    return words.size() > 1 && words[0] == 0x16 && words[1] == 0x03;
}

}  // namespace

Mesh::Mesh(const Hello& us, Listeners listeners, std::vector<std::vector<Endpoint>> endpoints,
           std::string congestion, std::size_t memory_bytes, std::shared_ptr<const TlsContext> tls)
    : us_(us),
      listeners_(std::move(listeners)),
      endpoints_(std::move(endpoints)),
      congestion_(std::move(congestion)),
      memory_bytes_(memory_bytes),
      tls_(std::move(tls)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      lines_(us.workers + 1U) {
    if (!epoll_.is_open()) throw std::runtime_error("no epoll: " + text_of(errno));
    for (auto& channel : lines_) channel.resize(us_.ranks);
    for (std::size_t i = 0; i < listeners_.tcp.size(); ++i) {
        // Those that call get it with the connection.
        set_up(listeners_.tcp[i].get(), congestion_);
        watch(listeners_.tcp[i].get(), EPOLLIN, kFirstListener + i);
    }
    if (listeners_.local.is_open()) watch(listeners_.local.get(), EPOLLIN, kLocalListener);
    for (std::uint32_t rank = 0; rank < us_.rank; ++rank) {
        for (int channel = 0; channel <= us_.workers; ++channel) {
            call(static_cast<int>(rank), channel);
        }
    }
}

void Mesh::fail(const Pending& pending, const std::string& why) const {
    throw failure(pending, why);
}

MeshError Mesh::failure(const Pending& pending, const std::string& why) const {
    return {pending.rank,
            "rank " + std::to_string(pending.rank) + " (" + text_of(pending.endpoint) + ") " + why};
}

/// Who refuses us says why on one connection only, and closes all.
void Mesh::lose(const Pending& pending, const std::string& why) {
    if (lost_) return;
    lost_ = failure(pending, why);
    lost_at_ = Clock::now();
}

void Mesh::judge_lost() const {
    if (!lost_) return;
    const bool may_be_explained =
        std::any_of(pending_.begin(), pending_.end(),
                    [this](const auto& p) { return p.second.rank == lost_->rank; });
    if (!may_be_explained || Clock::now() > lost_at_ + kExplaining) throw *lost_;
}

bool Mesh::step(int milliseconds) {
    const std::size_t wanted = (us_.ranks - 1U) * (us_.workers + 1U);
    const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
    while (established_ < wanted) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
        if (left.count() < 0) return false;
        epoll_event events[kEventsAtOnce];
        const int timeout = until_next_call_ms(static_cast<int>(left.count()));
        const int count = ::epoll_wait(epoll_.get(), events, kEventsAtOnce, timeout);
        for (int i = 0; i < count; ++i) handle(events[i].data.u64);
        drop_mute();
        judge_lost();
        call_again_when_due();
        if (left.count() == 0) break;
    }
    if (established_ < wanted) return false;
    // What is made next needs descriptors.
    pending_.clear();
    epoll_.reset();
    return true;
}

void Mesh::watch(int fd, std::uint32_t events, std::uint64_t number) const {
    epoll_event event{};
    event.events = events;
    event.data.u64 = number;
    if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
        throw std::runtime_error("a connection cannot be watched: " + text_of(errno));
    }
}

void Mesh::add(Pending pending) {
    const std::uint64_t number = next_pending_++;
    // Whoever handles it goes on until there is nothing left to read, or no room.
    watch(pending.socket.get(), EPOLLIN | EPOLLOUT | EPOLLET, number);
    pending_.emplace(number, std::move(pending));
}

/// `number`: of a listener, or of one that may have been established or dropped since.
void Mesh::handle(std::uint64_t number) {
    if (number == kLocalListener) return admit(listeners_.local.get(), true);
    if (number >= kFirstListener) {
        return admit(listeners_.tcp[number - kFirstListener].get(), false);
    }
    const auto found = pending_.find(number);
    if (found == pending_.end()) return;
    const bool goes_on = proceed(found->second);
    if (!goes_on || !found->second.socket.is_open()) pending_.erase(found);
}

void Mesh::drop_mute() {
    const auto now = Clock::now();
    if (now < next_look_) return;
    next_look_ = now + kBetweenLooks;
    for (auto at = pending_.begin(); at != pending_.end();) {
        const bool is_mute = at->second.rank < 0 && now - at->second.since > kSayHello;
        at = is_mute ? pending_.erase(at) : std::next(at);
    }
}

/// Returns whether the hand-shake goes on.
bool Mesh::proceed(Pending& pending) {
    if (!pending.is_connected) {
        int error = 0;
        socklen_t size = sizeof(error);
        ::getsockopt(pending.socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
        if (is_drop(error)) return call_again(pending);
        if (error != 0) {
            lose(pending, unreachable(pending, error));
            return false;
        }
        pending.is_connected = true;
        if (!tls_ || pending.is_local) return introduce(pending);
        pending.is_encrypting = true;
        pending.socket.encrypt(tls_, pending.rank);
    }
    if (pending.is_encrypting) {
        if (!encrypt(pending)) return false;
        if (pending.is_encrypting) return true;
        if (pending.rank >= 0) return introduce(pending);
    }
    return pending.rank < 0 ? greet(pending) : listen_to_answer(pending);
}

/// Returns whether the hand-shake of TLS goes on, or is over: then `is_encrypting` is false.
bool Mesh::encrypt(Pending& pending) {
    try {
        if (pending.socket.tls() == nullptr) {
            char first = 0;
            if (::recv(pending.socket.get(), &first, 1, MSG_PEEK) < 0) return errno == EAGAIN;
            // Who begins as an engine does is told why it is refused.
            pending.is_encrypting = !is_begun_hello(first);
            if (!pending.is_encrypting) return true;
            pending.socket.encrypt(tls_, std::nullopt);
        }
        const Tls::Step step = pending.socket.tls()->shake_hands();
        pending.is_encrypting = step != Tls::Step::kDone;
        pending.must_write = step == Tls::Step::kMustWrite;
        return true;
    } catch (const TlsError& error) {
        if (pending.rank < 0) {
            // Of one rank's connections only the first says why, when it closes all.
            if (!error.is_lost || observed_.empty()) {
                observe(pending, error.is_lost ? "broke off the hand-shake of TLS" : error.what());
            }
        } else if (error.is_lost && pending.tries < kMostTlsTries) {
            call_again(pending);
        } else if (error.is_lost) {
            lose(pending, "broke off the hand-shake of TLS: does it use TLS, too?");
        } else {
            fail(pending, error.what());
        }
        return false;
    }
}

/// Says who we are.
bool Mesh::introduce(Pending& pending) {
    Hello hello = us_;
    hello.channel = static_cast<std::uint16_t>(pending.channel);
    const std::string words = encode(hello);
    // A new connection has room for so little.
    const ssize_t sent = pending.is_local ? send_with(pending.socket.get(), words.data(),
                                                      words.size(), pending.handle)
                                          : pending.socket.send(words.data(), words.size());
    if (sent < 0 && errno == EAGAIN && !pending.is_connected) return true;
    pending.handle.reset();
    if (sent == static_cast<ssize_t>(words.size())) {
        pending.is_connected = true;
        return true;
    }
    if (pending.is_local) return share_no_memory(pending);
    if (is_drop(errno)) return call_again(pending);
    lose(pending, unreachable(pending, errno));
    return false;
}

/// What a caller did that has not said who it is: it may be a rank that will be missing.
void Mesh::observe(const Pending& pending, const std::string& what) {
    observed_ = "a caller from " + pending.endpoint.host + " " + what;
}

/// Reads until `bytes` have been heard; false where the peer will not say so much.
bool Mesh::hear(Pending& pending, std::size_t bytes) {
    char buffer[256];
    while (pending.heard.size() < bytes) {
        const std::size_t missing = std::min(sizeof(buffer), bytes - pending.heard.size());
        const int fd = pending.socket.get();
        const ssize_t got = pending.is_local ? receive_with(fd, buffer, missing, pending.handle)
                                             : pending.socket.receive(buffer, missing);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        if (got <= 0) return false;
        pending.heard.append(buffer, static_cast<std::size_t>(got));
    }
    return true;
}

bool Mesh::greet(Pending& pending) {
    if (!hear(pending, kHelloBytes)) {
        const auto* const tls = pending.socket.tls();
        if (tls != nullptr && !tls->failure().empty()) observe(pending, tls->failure());
        return false;
    }
    if (pending.heard.size() < kHelloBytes) return true;
    const auto hello = parse_hello(reinterpret_cast<const std::uint8_t*>(pending.heard.data()));
    if (!hello) {
        if (is_begun_tls(pending.heard)) observe(pending, "speaks TLS, which this rank does not");
        return false;
    }
    const std::string reason = refusal_of(pending, *hello);
    const bool is_welcome = reason.empty();
    if (is_welcome && (lines_[hello->channel][hello->rank].socket.is_open() ||
                       (pending.is_local && !join(pending, hello->channel)))) {
        return false;
    }
    const std::string answer = encode_answer(reason);
    [[maybe_unused]] const auto sent = pending.socket.send(answer.data(), answer.size());
    if (is_welcome) {
        establish(pending, static_cast<int>(hello->rank), hello->channel);
        return false;
    }
    // A caller of this job that does not fit is a mistake of ours; any other is not our business.
    if (hello->job == us_.job) {
        throw MeshError(static_cast<int>(hello->rank),
                        "rank " + std::to_string(hello->rank) + " was refused: " + reason);
    }
    return false;
}

std::string Mesh::refusal_of(const Pending& pending, const Hello& hello) const {
    const std::string reason = refusal(hello, us_);
    if (!reason.empty() || !tls_ || pending.is_local) return reason;
    const auto* const tls = pending.socket.tls();
    if (tls == nullptr) return "it does not use TLS, as this rank does";
    return tls->refusal(static_cast<int>(hello.rank));
}

bool Mesh::listen_to_answer(Pending& pending) {
    if (!hear(pending, kAnswerBytes)) {
        if (pending.is_local) return share_no_memory(pending);
        const auto* const tls = pending.socket.tls();
        if (tls != nullptr && !tls->failure().empty()) fail(pending, tls->failure());
        if (pending.heard.empty()) return call_again(pending);
        lose(pending, "closed the connection within its answer");
        return false;
    }
    if (pending.heard.size() < kAnswerBytes) return true;
    const auto answer = parse_answer(reinterpret_cast<const std::uint8_t*>(pending.heard.data()));
    if (!answer && pending.is_local) return share_no_memory(pending);
    if (!answer) fail(pending, "does not answer like an engine: is something else on its port?");
    if (answer->is_welcome) {
        establish(pending, pending.rank, pending.channel);
        return false;
    }
    const std::size_t whole = kAnswerBytes + answer->reason_bytes;
    if (hear(pending, whole) && pending.heard.size() < whole) return true;
    fail(pending, "refused this rank: " + printable(pending.heard.substr(kAnswerBytes)));
}

/// Returns whether memory that the caller shares can be used; without an answer it calls by TCP.
bool Mesh::join(Pending& pending, int channel) const {
    if (channel >= us_.workers || !pending.handle.is_open()) return false;
    try {
        pending.memory = SharedMemory::joined(std::move(pending.handle), pending.socket.get());
    } catch (const std::runtime_error&) {
        return false;
    }
    return true;
}

bool Mesh::share_no_memory(const Pending& pending) {
    again_.push_back({pending.rank, pending.channel, 0, Clock::now()});
    return false;
}

void Mesh::establish(Pending& pending, int rank, int channel) {
    lines_[channel][rank] = {std::move(pending.socket), std::move(pending.memory)};
    ++established_;
}

std::vector<int> Mesh::missing() const {
    std::vector<int> ranks;
    for (int rank = 0; rank < static_cast<int>(us_.ranks); ++rank) {
        const bool is_whole = std::all_of(lines_.begin(), lines_.end(), [&](const auto& channel) {
            return channel[rank].socket.is_open();
        });
        if (rank != static_cast<int>(us_.rank) && !is_whole) ranks.push_back(rank);
    }
    return ranks;
}

}  // namespace plink::transport
