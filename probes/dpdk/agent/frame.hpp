// Ethernet frames that carry one UDP datagram over IPv4 or IPv6, or ARP for IPv4 (RFC 826). Bytes
// in, bytes out: no I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "../../echo/agent/peers.hpp"

namespace plink {

using Mac = std::array<uint8_t, 6>;

constexpr size_t kEthernetBytes = 14;
constexpr uint16_t kEtherIpv4 = 0x0800;
constexpr uint16_t kEtherArp = 0x0806;
constexpr uint16_t kEtherIpv6 = 0x86dd;

// The largest payload that write_datagram takes; every message of the agents is smaller.
constexpr size_t kMostPayload = 64;
// The largest frame that it writes: Ethernet, IPv6 and UDP headers, and the payload.
constexpr size_t kMostFrame = kEthernetBytes + 40 + 8 + kMostPayload;

// Writes the Ethernet header.
void write_ethernet(uint8_t* frame, const Mac& source, const Mac& destination, uint16_t type);

// What an Ethernet frame of at least kEthernetBytes carries.
uint16_t ethernet_type(const uint8_t* frame);

// Writes a frame of up to kMostFrame bytes, TTL 64, not to be fragmented, all checksums computed.
// `from` and `to` are of one family. Returns its size, or 0 where the payload is too large.
size_t write_datagram(uint8_t* frame, const Mac& source, const Mac& destination,
                      const Endpoint& from, const Endpoint& to, const uint8_t* data, size_t size);

struct Datagram {
    Endpoint from;
    Endpoint to;
    const uint8_t* data = nullptr;  // in the frame that was read
    size_t size = 0;
};

// The datagram in a frame, if it is whole, no fragment, and its checksums hold.
bool read_datagram(const uint8_t* frame, size_t size, Datagram* datagram);

using Ipv4 = std::array<uint8_t, 4>;

constexpr size_t kArpFrame = kEthernetBytes + 28;

struct Arp {
    bool is_request = false;
    Mac sender_mac{};
    Ipv4 sender{};
    Mac target_mac{};  // in a request all zero
    Ipv4 target{};
};

// Writes a frame of kArpFrame bytes: a request goes to all, a reply to the target.
void write_arp(uint8_t* frame, const Arp& arp);

// The request or reply in a frame, if it is one.
bool read_arp(const uint8_t* frame, size_t size, Arp* arp);

}  // namespace plink
