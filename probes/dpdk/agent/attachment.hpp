// How the agent is attached to its network: by an interface that the kernel owns, or by a NIC (or
// virtual device) that is the agent's alone.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "frame.hpp"

namespace plink {

class Port;

// Writes to standard error, in one line, why the agent cannot work: the coordinator shows the last
// one to the user. Returns false, for the caller to return.
inline bool print_error(const std::string& sentence) {
    std::fprintf(stderr, "%s\n", sentence.c_str());
    return false;
}

class Attachment {
  public:
    virtual ~Attachment() = default;

    // Checks that it can work, reserves the UDP port that `wanted` names, and adds what DPDK has
    // to be told. Prints why and returns false if it cannot.
    virtual bool prepare(const Endpoint& wanted, Endpoint* bound,
                         std::vector<std::string>* arguments) = 0;

    // The port runs from here on, and outlives this. Prints why and returns false if that is of no
    // use.
    virtual bool attach(Port* port, uint16_t udp_port) = 0;

    // The Ethernet address that takes packets to `to`. Where it is not known yet, asks for it and
    // returns false.
    virtual bool next_hop(const Endpoint& to, Mac* mac) = 0;

    // A frame that carries no datagram for the agent.
    virtual void take(const uint8_t* frame, size_t size) = 0;

    // Becomes readable when a packet arrives, or is -1 where nothing tells.
    virtual int wake_fd() const { return -1; }
};

// Attaches by an interface that the kernel owns and goes on using, with DPDK's af_packet driver.
// The kernel finds the next hops, and keeps the UDP port for us.
std::unique_ptr<Attachment> attach_by_kernel_interface();

// A NIC taken from the kernel, or a virtual device of DPDK.
struct OwnedDevice {
    std::string device;  // a PCI address (0000:00:06.0) or a virtual device (net_tap0,iface=tap0)
    uint32_t prefix_length = 0;
    bool has_gateway = false;
    Ipv4 gateway{};
};

// Attaches by a device of which the agent is the only user: it answers ARP for the device's address
// and asks for its next hops. IPv4 only.
std::unique_ptr<Attachment> attach_by_owned_nic(const OwnedDevice& device);

}  // namespace plink
