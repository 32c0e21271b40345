// ARP over Ethernet for IPv4 (RFC 826). Bytes in, bytes out: no I/O.
#pragma once

#include "frame.hpp"

namespace plink {

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
