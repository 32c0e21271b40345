// UDP datagrams in frames that DPDK sends and receives, past the kernel.
#pragma once

#include <string>

#include "../../echo/agent/transport.hpp"
#include "attachment.hpp"
#include "port.hpp"

namespace plink {

class DpdkTransport : public Transport {
  public:
    // `device` is what to call the port towards the user.
    DpdkTransport(Attachment* attachment, const std::string& device)
        : attachment_(*attachment), device_(device) {}

    bool open(const Endpoint& wanted, Endpoint* bound) override;
    Ready wait(int64_t deadline_ns, bool eager) override;
    int receive(uint8_t* data, size_t most, Endpoint* from, int64_t* received_ns) override;
    void send(const Endpoint& to, const uint8_t* data, size_t size) override;

  private:
    Attachment& attachment_;
    std::string device_;
    Port port_;
    bool is_open_ = false;
    Endpoint own_;
    int64_t input_looked_at_ns_ = 0;
    int64_t received_ns_ = 0;  // when a packet last arrived
};

}  // namespace plink
