// The kernel's routes and neighbours, asked over rtnetlink.
#pragma once

#include <vector>

#include "frame.hpp"

namespace plink {

class Routes {
  public:
    // For packets that leave from the address `from` by one interface. Prints why and returns false
    // if the kernel cannot be asked.
    bool open(const Endpoint& from, int interface);

    // The gateway on the way to `to`, or `to` itself where it is on the link. False where the
    // kernel has no such route.
    bool gateway(const Endpoint& to, Endpoint* gateway);

    // The Ethernet address of a neighbour, if the kernel knows it.
    bool neighbour(const Endpoint& who, Mac* mac);

  private:
    bool route(const Endpoint& to, Endpoint* gateway, int* interface);

    // Sends the request and calls `each(header)` for every message of the answer.
    template <typename Each>
    void ask(std::vector<uint8_t>* request, Each each);

    Endpoint from_;
    int interface_ = 0;
    int socket_ = -1;
    uint32_t sequence_ = 0;
};

}  // namespace plink
