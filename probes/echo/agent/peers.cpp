#include "peers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace plink {

bool Endpoint::parse(const char* text, uint16_t port, Endpoint* endpoint) {
    *endpoint = Endpoint{};
    auto* v4 = reinterpret_cast<sockaddr_in*>(&endpoint->address);
    if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        endpoint->size = sizeof(sockaddr_in);
        return true;
    }
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&endpoint->address);
    if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        endpoint->size = sizeof(sockaddr_in6);
        return true;
    }
    return false;
}

bool Endpoint::operator==(const Endpoint& other) const {
    if (address.ss_family != other.address.ss_family || port() != other.port()) return false;
    if (address.ss_family == AF_INET) {
        return reinterpret_cast<const sockaddr_in*>(&address)->sin_addr.s_addr ==
               reinterpret_cast<const sockaddr_in*>(&other.address)->sin_addr.s_addr;
    }
    return std::memcmp(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr,
                       &reinterpret_cast<const sockaddr_in6*>(&other.address)->sin6_addr,
                       sizeof(in6_addr)) == 0;
}

uint16_t Endpoint::port() const {
    // sin_port and sin6_port stand at the same place.
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

bool Endpoint::is_any() const {
    if (address.ss_family == AF_INET) {
        return reinterpret_cast<const sockaddr_in*>(&address)->sin_addr.s_addr == INADDR_ANY;
    }
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
    return IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
}

void Peers::add(uint32_t index, const Endpoint& endpoint) {
    if (index >= peers_.size()) peers_.resize(index + 1);
    peers_[index] = Peer{true, false, 0, endpoint};
}

void Peers::mark_gone(uint32_t index) {
    if (index < peers_.size()) peers_[index].gone = true;
}

void Peers::mark_suspect(uint32_t index) {
    if (index < peers_.size()) ++peers_[index].suspected;
}

const Peer* Peers::find(uint32_t index) const {
    return index < peers_.size() && peers_[index].known ? &peers_[index] : nullptr;
}

}  // namespace plink
