// Whom a rank calls while it connects, and how often.

#include <algorithm>
#include <cerrno>

#include "local_socket.hpp"
#include "mesh.hpp"

namespace plink::transport {

namespace {

using namespace std::chrono_literals;

// Until a call that was dropped is made again; twice as long each time.
constexpr auto kFirstPause = 20ms;
constexpr int kMostDoublings = 5;

}  // namespace

void Mesh::call(int rank, int channel) {
    if (!call_locally(rank, channel)) call_remotely(rank, channel);
}

/// Returns whether the rank is of this host and can be asked to share memory.
bool Mesh::call_locally(int rank, int channel) {
    if (!listeners_.local.is_open() || channel >= us_.workers) return false;
    const Endpoint& endpoint = endpoints_[rank].front();
    Descriptor socket = call_on_this_host(endpoint);
    if (!socket.is_open()) return false;
    Pending pending{std::move(socket), rank, channel, endpoint, false, "", Clock::now(), true};
    try {
        pending.memory = SharedMemory::made(memory_bytes_, pending.socket.get());
    } catch (const std::runtime_error&) {
        return false;
    }
    pending.handle = pending.memory->handle();
    if (introduce(pending)) add(std::move(pending));
    return true;
}

void Mesh::call_remotely(int rank, int channel, int tries) {
    const auto& endpoints = endpoints_[rank];
    const auto place = static_cast<std::size_t>(channel) % endpoints.size();
    Pending pending{{}, rank, channel, endpoints[place], false, "", Clock::now()};
    pending.tries = tries;
    sockaddr_storage address;
    const socklen_t size = socket_address(pending.endpoint, address);
    do {
        pending.socket =
            Descriptor(::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    } while (!pending.socket.is_open() && is_out_of_descriptors() && dismiss_one());
    if (!pending.socket.is_open()) fail(pending, "cannot be called: " + text_of(errno));
    set_up(pending.socket.get(), congestion_);
    const auto& own = endpoints_[us_.rank];
    if (own.size() > 1) {
        const std::string& source = own[static_cast<std::size_t>(channel) % own.size()].host;
        send_from(pending.socket.get(), address.ss_family, source);
    }
    if (::connect(pending.socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 &&
        errno != EINPROGRESS) {
        lose(pending, unreachable(pending, errno));
        return;
    }
    // On the way to a near host it is connected by now.
    if (tls_ || introduce(pending)) add(std::move(pending));
}

/// Who has too many callers drops some before it answers, and may answer the next time.
bool Mesh::call_again(const Pending& pending) {
    ++drops_[pending.rank];
    const auto pause = kFirstPause * (1 << std::min(pending.tries, kMostDoublings));
    again_.push_back({pending.rank, pending.channel, pending.tries + 1, Clock::now() + pause});
    return false;
}

void Mesh::call_again_when_due() {
    const auto now = Clock::now();
    for (const Again& again : std::exchange(again_, {})) {
        if (again.at <= now) {
            call_remotely(again.rank, again.channel, again.tries);
        } else {
            again_.push_back(again);
        }
    }
}

int Mesh::until_next_call_ms(int most) const {
    auto until = std::chrono::milliseconds(most);
    for (const Again& again : again_) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(again.at - Clock::now());
        until = std::clamp(left, 0ms, until);
    }
    return static_cast<int>(until.count());
}

std::string Mesh::dropped() const {
    for (const int rank : missing()) {
        const auto found = drops_.find(rank);
        if (found == drops_.end()) continue;
        const std::string times =
            found->second == 1 ? "a call" : std::to_string(found->second) + " calls";
        return "rank " + std::to_string(rank) + " (" + text_of(endpoints_[rank].front()) +
               ") dropped " + times + " before it answered";
    }
    return "";
}

std::string Mesh::unreachable(const Pending& pending, int error) {
    const std::string how = pending.tries > 0 ? "dropped this rank's call, and now " : "";
    return how + "cannot be reached: " + text_of(error);
}

}  // namespace plink::transport
