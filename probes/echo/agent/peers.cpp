#include "peers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace plink {

Endpoint Endpoint::of(int family, const void* address, uint16_t port) {
    Endpoint endpoint;
    endpoint.address.ss_family = static_cast<sa_family_t>(family);
    endpoint.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    // sin_port and sin6_port stand at the same place.
    reinterpret_cast<sockaddr_in*>(&endpoint.address)->sin_port = htons(port);
    std::memcpy(const_cast<uint8_t*>(endpoint.bytes()), address, endpoint.byte_count());
    return endpoint;
}

bool Endpoint::parse(const char* text, uint16_t port, Endpoint* endpoint) {
    uint8_t parsed[sizeof(in6_addr)];
    for (int family : {AF_INET, AF_INET6}) {
        if (inet_pton(family, text, parsed) != 1) continue;
        *endpoint = of(family, parsed, port);
        return true;
    }
    return false;
}

const uint8_t* Endpoint::bytes() const {
    const void* begin = &reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr;
    if (family() == AF_INET) begin = &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
    return static_cast<const uint8_t*>(begin);
}

bool Endpoint::operator==(const Endpoint& other) const {
    return family() == other.family() && port() == other.port() &&
           std::memcmp(bytes(), other.bytes(), byte_count()) == 0;
}

uint16_t Endpoint::port() const {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

bool Endpoint::is_any() const {
    return std::all_of(bytes(), bytes() + byte_count(), [](uint8_t byte) { return byte == 0; });
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
