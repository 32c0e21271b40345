// How the agent is attached to its network: by an interface that the kernel owns, or by a NIC (or
// virtual device) that is the agent's alone.
#pragma once

#include <string>
#include <vector>

#include "frame.hpp"

namespace plink {

class Port;

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

}  // namespace plink
