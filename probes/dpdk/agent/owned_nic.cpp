#include "owned_nic.hpp"

#include <netinet/in.h>

#include <cstring>

#include "pci.hpp"
#include "port.hpp"
#include "print_error.hpp"

namespace plink {
namespace {

// The first port that is for any use (RFC 6335): nobody else has this address.
constexpr uint16_t kPort = 49152;
constexpr int kLinkWithinMs = 5000;

Ipv4 ipv4_of(const Endpoint& endpoint) {
    Ipv4 address{};
    std::memcpy(&address, &reinterpret_cast<const sockaddr_in&>(endpoint.address).sin_addr, 4);
    return address;
}

uint32_t number_of(const Ipv4& address) {
    uint32_t number = 0;
    for (uint8_t byte : address) number = number << 8 | byte;
    return number;
}

}  // namespace

bool OwnedNic::prepare(const Endpoint& wanted, Endpoint* bound,
                       std::vector<std::string>* arguments) {
    if (wanted.address.ss_family != AF_INET) {
        return print_error("a NIC of the agent's own works with IPv4 addresses only");
    }
    address_ = ipv4_of(wanted);
    *bound = wanted;
    auto& name = reinterpret_cast<sockaddr_in&>(bound->address);
    if (name.sin_port == 0) name.sin_port = htons(kPort);
    if (!is_pci_address(device_.device)) {
        *arguments = {"--no-huge", "--no-pci", "--no-shconf",
                      "-m",        "32",       "--vdev=" + device_.device};
        return true;
    }
    *arguments = {"--in-memory", "-a", device_.device};
    return check_pci_device(device_.device);
}

bool OwnedNic::attach(Port* port, uint16_t) {
    port_ = port;
    return port->has_link(kLinkWithinMs) ||
           print_error("the link of " + device_.device + " is down");
}

bool OwnedNic::is_on_link(const Ipv4& address) const {
    uint32_t length = device_.prefix_length;
    uint32_t mask = length == 0 ? 0 : ~uint32_t{0} << (32 - length);
    return ((number_of(address) ^ number_of(address_)) & mask) == 0;
}

bool OwnedNic::next_hop(const Endpoint& to, Mac* mac) {
    Ipv4 hop = ipv4_of(to);
    if (!is_on_link(hop)) {
        if (!device_.has_gateway) return false;
        hop = device_.gateway;
    }
    const Known& known = known_[hop];
    if (!known.is_known) {
        uint8_t frame[kArpFrame];
        write_arp(frame, {true, port_->mac(), address_, Mac{}, hop});
        port_->send(frame, sizeof frame);
        return false;
    }
    *mac = known.mac;
    return true;
}

void OwnedNic::take(const uint8_t* frame, size_t size) {
    Arp arp;
    if (!read_arp(frame, size, &arp)) return;
    // Only whom we asked for: else anybody could fill the table.
    auto known = known_.find(arp.sender);
    if (known != known_.end()) known->second = {arp.sender_mac, true};
    if (!arp.is_request || arp.target != address_) return;
    uint8_t reply[kArpFrame];
    write_arp(reply, {false, port_->mac(), address_, arp.sender_mac, arp.sender});
    port_->send(reply, sizeof reply);
}

}  // namespace plink
