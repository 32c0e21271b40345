// How packets leave and reach an agent. It knows bytes and endpoints, and nothing of the run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "peers.hpp"

namespace plink {

// What may be had without waiting.
struct Ready {
    bool input = false;   // standard input has something, or has ended
    bool packet = false;  // receive() may yield a packet
};

class Transport {
  public:
    virtual ~Transport() = default;

    // Opens the UDP port of `wanted`, any port where it says 0. Complains on standard error and
    // returns false if it cannot.
    virtual bool open(const Endpoint& wanted, Endpoint* bound) = 0;

    // Returns as soon as something is ready, at the deadline at the latest. Before open() only
    // standard input can be. `eager` says that an answer is due: a transport that can may then
    // poll instead of sleep.
    virtual Ready wait(int64_t deadline_ns, bool eager) = 0;

    // Takes one packet without waiting: up to `most` bytes of its payload, its sender, and when it
    // arrived. Returns the number of bytes taken, or -1 where there was none.
    virtual int receive(uint8_t* data, size_t most, Endpoint* from, int64_t* received_ns) = 0;

    // Sends one packet. One that cannot be sent is lost, without a word: silence tells.
    virtual void send(const Endpoint& to, const uint8_t* data, size_t size) = 0;
};

}  // namespace plink
