// An interface that the kernel owns and goes on using, by DPDK's af_packet driver. The kernel finds
// the next hops, and keeps the UDP port for us.
#pragma once

#include <map>
#include <string>

#include "attachment.hpp"
#include "routes.hpp"

namespace plink {

class KernelInterface : public Attachment {
  public:
    bool prepare(const Endpoint& wanted, Endpoint* bound,
                 std::vector<std::string>* arguments) override;
    bool attach(Port* port, uint16_t udp_port) override;
    bool next_hop(const Endpoint& to, Mac* mac) override;
    void take(const uint8_t*, size_t) override {}
    int wake_fd() const override { return packet_socket_; }

  private:
    struct Known {
        Mac mac{};
        int64_t until_ns = 0;
    };
    using Address = std::array<uint8_t, 16>;

    bool find_interface(const Endpoint& address);
    bool hold_port(const Endpoint& wanted, Endpoint* bound);
    bool look_up(const Endpoint& to, Mac* mac);

    std::string name_;
    int index_ = 0;
    int held_ = -1;           // the kernel's UDP socket, which gets nothing
    int packet_socket_ = -1;  // the driver's
    Routes routes_;
    std::map<Address, Known> known_;
};

}  // namespace plink
