#include "arp.hpp"

#include <algorithm>

#include "bytes.hpp"

namespace plink {
namespace {

constexpr uint16_t kEthernet = 1;
constexpr uint16_t kRequest = 1;
constexpr uint16_t kReply = 2;
constexpr Mac kBroadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

}  // namespace

void write_arp(uint8_t* frame, const Arp& arp) {
    const Mac& destination = arp.is_request ? kBroadcast : arp.target_mac;
    write_ethernet(frame, arp.sender_mac, destination, kEtherArp);
    uint8_t* body = frame + kEthernetBytes;
    put16(body, kEthernet);
    put16(body + 2, kEtherIpv4);
    body[4] = 6;
    body[5] = 4;
    put16(body + 6, arp.is_request ? kRequest : kReply);
    uint8_t* out = std::copy(arp.sender_mac.begin(), arp.sender_mac.end(), body + 8);
    out = std::copy(arp.sender.begin(), arp.sender.end(), out);
    out = std::copy(arp.target_mac.begin(), arp.target_mac.end(), out);
    std::copy(arp.target.begin(), arp.target.end(), out);
}

bool read_arp(const uint8_t* frame, size_t size, Arp* arp) {
    if (size < kArpFrame || ethernet_type(frame) != kEtherArp) return false;
    const uint8_t* body = frame + kEthernetBytes;
    uint16_t operation = get16(body + 6);
    if (get16(body) != kEthernet || get16(body + 2) != kEtherIpv4 || body[4] != 6 || body[5] != 4) {
        return false;
    }
    if (operation != kRequest && operation != kReply) return false;
    arp->is_request = operation == kRequest;
    std::copy_n(body + 8, 6, arp->sender_mac.begin());
    std::copy_n(body + 14, 4, arp->sender.begin());
    std::copy_n(body + 18, 6, arp->target_mac.begin());
    std::copy_n(body + 24, 4, arp->target.begin());
    return true;
}

}  // namespace plink
