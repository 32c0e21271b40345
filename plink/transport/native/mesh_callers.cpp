// Who calls a rank while it connects: few of them need be ranks.

#include <algorithm>
#include <cerrno>

#include "crowd.hpp"
#include "local_socket.hpp"
#include "mesh.hpp"

namespace plink::transport {

namespace {

// Callers that have not said who they are, beyond the expected ones.
constexpr std::size_t kMostStrangers = 64;
// Callers let in before those who are there are heard again.
constexpr int kMostAtOnce = 256;

}  // namespace

void Mesh::admit(int listener, bool is_local) {
    for (int admitted = 0; admitted < kMostAtOnce; ++admitted) {
        sockaddr_storage address{};
        socklen_t size = sizeof(address);
        auto* const its = reinterpret_cast<sockaddr*>(&address);
        Descriptor socket(::accept4(listener, its, &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!socket.is_open()) {
            if (errno == ECONNABORTED || (is_out_of_descriptors() && dismiss_one())) continue;
            break;
        }
        if (is_local && !is_of_this_user(socket.get())) continue;
        const Endpoint where{is_local ? "" : host_text(address), 0};
        Pending caller{std::move(socket), -1, -1, where, true, "", Clock::now(), is_local};
        caller.is_encrypting = tls_ && !is_local;
        caller.source = source_of(address);
        // A rank has spoken by now, unless its words are late, and need not fear to be dismissed.
        if (proceed(caller)) add(std::move(caller));
    }
    dismiss(kMostStrangers + us_.ranks * (us_.workers + 1U));
}

/// Closes connections of callers that have not said who they are, so that `most` stay; returns
/// whether there were more.
bool Mesh::dismiss(std::size_t most) {
    std::vector<std::string> sources;
    for (const auto& [number, pending] : pending_) {
        if (pending.rank < 0) sources.push_back(pending.source);
    }
    if (sources.size() <= most) return false;
    const std::vector<bool> goes = who_goes(sources, most);
    std::size_t caller = 0;
    for (auto at = pending_.begin(); at != pending_.end();) {
        const bool is_dismissed = at->second.rank < 0 && goes[caller++];
        at = is_dismissed ? pending_.erase(at) : std::next(at);
    }
    return true;
}

/// Of the callers that have not said who they are; returns whether there was one.
bool Mesh::dismiss_one() {
    const auto strangers = std::count_if(pending_.begin(), pending_.end(),
                                         [](const auto& p) { return p.second.rank < 0; });
    return strangers > 0 && dismiss(static_cast<std::size_t>(strangers) - 1);
}

}  // namespace plink::transport
