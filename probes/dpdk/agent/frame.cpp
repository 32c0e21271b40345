#include "frame.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace plink {
namespace {

constexpr size_t kUdpBytes = 8;
constexpr size_t kIpv4Bytes = 20;
constexpr size_t kIpv6Bytes = 40;
constexpr uint8_t kUdp = 17;
constexpr uint8_t kTtl = 64;
constexpr uint16_t kDoNotFragment = 0x4000;
// The "more fragments" bit and the offset.
constexpr uint16_t kFragmentBits = 0x3fff;

constexpr uint16_t kArpEthernet = 1;
constexpr uint16_t kArpRequest = 1;
constexpr uint16_t kArpReply = 2;
constexpr Mac kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// Numbers in network byte order.
void put16(uint8_t* out, uint32_t value) {
    out[0] = static_cast<uint8_t>(value >> 8);
    out[1] = static_cast<uint8_t>(value);
}

uint16_t get16(const uint8_t* in) { return static_cast<uint16_t>(in[0] << 8 | in[1]); }

// The Internet checksum (RFC 1071), before it is folded and inverted.
uint32_t sum_of(const uint8_t* data, size_t size, uint32_t sum = 0) {
    for (size_t i = 0; i + 1 < size; i += 2) sum += get16(data + i);
    if (size % 2 == 1) sum += static_cast<uint32_t>(data[size - 1]) << 8;
    return sum;
}

uint16_t checksum_of(uint32_t sum) {
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~sum);
}

// Over the addresses and the UDP header and payload, as both IPv4 and IPv6 have it.
uint16_t udp_checksum(const uint8_t* addresses, size_t address_bytes, const uint8_t* udp,
                      size_t size) {
    uint32_t sum = sum_of(addresses, address_bytes) + kUdp + static_cast<uint32_t>(size);
    return checksum_of(sum_of(udp, size, sum));
}

void write_ipv4(uint8_t* ip, const Endpoint& from, const Endpoint& to, size_t udp_bytes) {
    std::memset(ip, 0, kIpv4Bytes);
    ip[0] = 0x45;
    put16(ip + 2, static_cast<uint32_t>(kIpv4Bytes + udp_bytes));
    put16(ip + 6, kDoNotFragment);
    ip[8] = kTtl;
    ip[9] = kUdp;
    std::memcpy(ip + 12, from.bytes(), 4);
    std::memcpy(ip + 16, to.bytes(), 4);
    put16(ip + 10, checksum_of(sum_of(ip, kIpv4Bytes)));
}

void write_ipv6(uint8_t* ip, const Endpoint& from, const Endpoint& to, size_t udp_bytes) {
    std::memset(ip, 0, kIpv6Bytes);
    ip[0] = 0x60;
    put16(ip + 4, static_cast<uint32_t>(udp_bytes));
    ip[6] = kUdp;
    ip[7] = kTtl;
    std::memcpy(ip + 8, from.bytes(), 16);
    std::memcpy(ip + 24, to.bytes(), 16);
}

// An IP header that carries a whole UDP datagram.
struct Ip {
    size_t header_bytes;
    size_t udp_bytes;
    const uint8_t* addresses;  // source, then destination
    size_t address_bytes;      // of both
};

bool read_ipv4(const uint8_t* ip, size_t size, Ip* read) {
    if (size < kIpv4Bytes || ip[0] >> 4 != 4) return false;
    size_t header = size_t{4} * (ip[0] & 0xf);
    size_t total = get16(ip + 2);
    if (header < kIpv4Bytes || total < header + kUdpBytes || total > size) return false;
    if (ip[9] != kUdp || (get16(ip + 6) & kFragmentBits) != 0) return false;
    if (checksum_of(sum_of(ip, header)) != 0) return false;
    *read = {header, total - header, ip + 12, 8};
    return true;
}

// Extension headers are not understood: the agents send none.
bool read_ipv6(const uint8_t* ip, size_t size, Ip* read) {
    if (size < kIpv6Bytes || ip[0] >> 4 != 6 || ip[6] != kUdp) return false;
    size_t length = get16(ip + 4);
    if (length < kUdpBytes || kIpv6Bytes + length > size) return false;
    *read = {kIpv6Bytes, length, ip + 8, 32};
    return true;
}

}  // namespace

void write_ethernet(uint8_t* frame, const Mac& source, const Mac& destination, uint16_t type) {
    std::copy(destination.begin(), destination.end(), frame);
    std::copy(source.begin(), source.end(), frame + 6);
    put16(frame + 12, type);
}

uint16_t ethernet_type(const uint8_t* frame) { return get16(frame + 12); }

size_t write_datagram(uint8_t* frame, const Mac& source, const Mac& destination,
                      const Endpoint& from, const Endpoint& to, const uint8_t* data, size_t size) {
    if (size > kMostPayload) return 0;
    bool is_v4 = to.family() == AF_INET;
    size_t udp_bytes = kUdpBytes + size;
    uint8_t* ip = frame + kEthernetBytes;
    uint8_t* udp = ip + (is_v4 ? kIpv4Bytes : kIpv6Bytes);
    write_ethernet(frame, source, destination, is_v4 ? kEtherIpv4 : kEtherIpv6);
    if (is_v4) {
        write_ipv4(ip, from, to, udp_bytes);
    } else {
        write_ipv6(ip, from, to, udp_bytes);
    }
    put16(udp, from.port());
    put16(udp + 2, to.port());
    put16(udp + 4, static_cast<uint32_t>(udp_bytes));
    put16(udp + 6, 0);
    std::memcpy(udp + kUdpBytes, data, size);
    uint16_t checksum =
        is_v4 ? udp_checksum(ip + 12, 8, udp, udp_bytes) : udp_checksum(ip + 8, 32, udp, udp_bytes);
    // A checksum of 0 would say that there is none (RFC 768).
    put16(udp + 6, checksum == 0 ? 0xffff : checksum);
    return static_cast<size_t>(udp - frame) + udp_bytes;
}

bool read_datagram(const uint8_t* frame, size_t size, Datagram* datagram) {
    if (size < kEthernetBytes) return false;
    uint16_t type = ethernet_type(frame);
    const uint8_t* ip = frame + kEthernetBytes;
    Ip read{};
    bool is_ip = type == kEtherIpv4   ? read_ipv4(ip, size - kEthernetBytes, &read)
                 : type == kEtherIpv6 ? read_ipv6(ip, size - kEthernetBytes, &read)
                                      : false;
    if (!is_ip) return false;
    const uint8_t* udp = ip + read.header_bytes;
    size_t udp_bytes = get16(udp + 4);
    if (udp_bytes < kUdpBytes || udp_bytes > read.udp_bytes) return false;
    if (udp_checksum(read.addresses, read.address_bytes, udp, udp_bytes) != 0) return false;
    const uint8_t* destination = read.addresses + read.address_bytes / 2;
    int family = type == kEtherIpv4 ? AF_INET : AF_INET6;
    datagram->from = Endpoint::of(family, read.addresses, get16(udp));
    datagram->to = Endpoint::of(family, destination, get16(udp + 2));
    datagram->data = udp + kUdpBytes;
    datagram->size = udp_bytes - kUdpBytes;
    return true;
}

void write_arp(uint8_t* frame, const Arp& arp) {
    const Mac& destination = arp.is_request ? kBroadcast : arp.target_mac;
    write_ethernet(frame, arp.sender_mac, destination, kEtherArp);
    uint8_t* body = frame + kEthernetBytes;
    put16(body, kArpEthernet);
    put16(body + 2, kEtherIpv4);
    body[4] = 6;
    body[5] = 4;
    put16(body + 6, arp.is_request ? kArpRequest : kArpReply);
    uint8_t* out = std::copy(arp.sender_mac.begin(), arp.sender_mac.end(), body + 8);
    out = std::copy(arp.sender.begin(), arp.sender.end(), out);
    out = std::copy(arp.target_mac.begin(), arp.target_mac.end(), out);
    std::copy(arp.target.begin(), arp.target.end(), out);
}

bool read_arp(const uint8_t* frame, size_t size, Arp* arp) {
    if (size < kArpFrame || ethernet_type(frame) != kEtherArp) return false;
    const uint8_t* body = frame + kEthernetBytes;
    uint16_t operation = get16(body + 6);
    if (get16(body) != kArpEthernet || get16(body + 2) != kEtherIpv4 || body[4] != 6 ||
        body[5] != 4) {
        return false;
    }
    if (operation != kArpRequest && operation != kArpReply) return false;
    arp->is_request = operation == kArpRequest;
    std::copy_n(body + 8, 6, arp->sender_mac.begin());
    std::copy_n(body + 14, 4, arp->sender.begin());
    std::copy_n(body + 18, 6, arp->target_mac.begin());
    std::copy_n(body + 24, 4, arp->target.begin());
    return true;
}

}  // namespace plink
