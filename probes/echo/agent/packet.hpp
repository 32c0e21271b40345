// The one packet of the echo protocol. Every message has the same size, so that no answer is ever
// larger than the question and an agent is of no use as a reflector.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace plink {

enum class Message : uint8_t {
    hello = 1,  // leader: I am at this pair; are you?
    ready = 2,  // follower: yes
    knock = 3,  // follower: I am at this pair; are you alive?
    wait = 4,   // alive, but not at this pair yet
    past = 5,   // this pair is behind me
    probe = 6,  // echo this
    echo = 7,   // the echo
    turn = 8,   // leader: my probes are done, now yours
    over = 9,   // follower: mine are done too
    bye = 10,   // leader: so the pair is done
};

struct Packet {
    Message message = Message::hello;
    uint32_t round = 0;
    uint32_t source = 0;
    uint32_t destination = 0;
    uint32_t sequence = 0;
};

constexpr size_t kPacketBytes = 32;
using Wire = std::array<uint8_t, kPacketBytes>;

// The run's secret, known to its agents alone.
struct Secret {
    uint64_t low = 0;
    uint64_t high = 0;
};

// Serialises a packet and appends the proof that its sender knows the secret (SipHash-2-4).
Wire seal(const Packet& packet, const Secret& secret);

// The packet in `size` bytes at `data`, if it is whole and its proof holds.
bool open(const uint8_t* data, size_t size, const Secret& secret, Packet* packet);

// SipHash-2-4 (Aumasson and Bernstein 2012) of `size` bytes.
uint64_t siphash(const uint8_t* data, size_t size, const Secret& key);

}  // namespace plink
