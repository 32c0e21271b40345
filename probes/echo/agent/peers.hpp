// Addresses of the hosts of a run.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace plink {

// An IPv4 or IPv6 address with a port.
struct Endpoint {
    sockaddr_storage address{};
    socklen_t size = 0;

    // The endpoint of an address of `family` (AF_INET or AF_INET6), in network byte order.
    static Endpoint of(int family, const void* address, uint16_t port);
    // False where `text` is no numeric address.
    static bool parse(const char* text, uint16_t port, Endpoint* endpoint);

    bool operator==(const Endpoint& other) const;
    int family() const { return address.ss_family; }
    // The address in network byte order, and its size: 4 or 16 bytes.
    const uint8_t* bytes() const;
    size_t byte_count() const { return family() == AF_INET ? 4 : 16; }
    uint16_t port() const;
    // Whether it stands for all addresses of a host.
    bool is_any() const;
};

struct Peer {
    bool known = false;
    bool gone = false;
    int suspected = 0;  // how often
    Endpoint endpoint;
};

// The peers by host index.
class Peers {
  public:
    // The largest host index an agent takes.
    static constexpr uint32_t kMaxIndex = 1 << 16;

    void add(uint32_t index, const Endpoint& endpoint);
    void mark_gone(uint32_t index);
    void mark_suspect(uint32_t index);
    // The peer, or nullptr where there is none of that index.
    const Peer* find(uint32_t index) const;

  private:
    std::vector<Peer> peers_;
};

}  // namespace plink
