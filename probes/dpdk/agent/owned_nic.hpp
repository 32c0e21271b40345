// A NIC taken from the kernel, or a virtual device of DPDK: the agent is its only user, answers ARP
// for its address and asks for its next hops. IPv4 only.
#pragma once

#include <map>
#include <string>

#include "arp.hpp"
#include "attachment.hpp"

namespace plink {

// What the user says of it.
struct OwnedDevice {
    std::string device;  // a PCI address (0000:00:06.0) or a virtual device (net_tap0,iface=tap0)
    uint32_t prefix_length = 0;
    bool has_gateway = false;
    Ipv4 gateway{};
};

class OwnedNic : public Attachment {
  public:
    explicit OwnedNic(const OwnedDevice& device) : device_(device) {}

    bool prepare(const Endpoint& wanted, Endpoint* bound,
                 std::vector<std::string>* arguments) override;
    bool attach(Port* port, uint16_t udp_port) override;
    bool next_hop(const Endpoint& to, Mac* mac) override;
    void take(const uint8_t* frame, size_t size) override;

  private:
    struct Known {
        Mac mac{};
        bool is_known = false;
    };

    bool is_on_link(const Ipv4& address) const;

    OwnedDevice device_;
    Ipv4 address_{};
    Port* port_ = nullptr;
    std::map<Ipv4, Known> known_;  // the next hops that were asked for
};

}  // namespace plink
