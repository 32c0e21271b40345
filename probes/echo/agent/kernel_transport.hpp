// The kernel's UDP.
#pragma once

#include "transport.hpp"

namespace plink {

class KernelTransport : public Transport {
  public:
    bool open(const Endpoint& wanted, Endpoint* bound) override;
    Ready wait(int64_t deadline_ns, bool eager) override;
    int receive(uint8_t* data, size_t most, Endpoint* from, int64_t* received_ns) override;
    void send(const Endpoint& to, const uint8_t* data, size_t size) override;

  private:
    int socket_ = -1;
};

}  // namespace plink
