#include "packet.hpp"

namespace plink {
namespace {

constexpr uint32_t kMagic = 0x706c6e6b;  // "plnk"
constexpr uint8_t kVersion = 1;
constexpr size_t kSignedBytes = 24;

void put(uint8_t* out, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(value >> (8 * i));
}

uint64_t get(const uint8_t* in, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(in[i]) << (8 * i);
    return value;
}

uint64_t rotate(uint64_t value, int bits) { return (value << bits) | (value >> (64 - bits)); }

struct SipState {
    uint64_t v0, v1, v2, v3;

    void round() {
        v0 += v1;
        v1 = rotate(v1, 13) ^ v0;
        v0 = rotate(v0, 32);
        v2 += v3;
        v3 = rotate(v3, 16) ^ v2;
        v0 += v3;
        v3 = rotate(v3, 21) ^ v0;
        v2 += v1;
        v1 = rotate(v1, 17) ^ v2;
        v2 = rotate(v2, 32);
    }

    void absorb(uint64_t word) {
        v3 ^= word;
        round();
        round();
        v0 ^= word;
    }
};

}  // namespace

uint64_t siphash(const uint8_t* data, size_t size, const Secret& key) {
    SipState state{key.low ^ 0x736f6d6570736575, key.high ^ 0x646f72616e646f6d,
                   key.low ^ 0x6c7967656e657261, key.high ^ 0x7465646279746573};
    size_t whole = size & ~size_t{7};
    for (size_t i = 0; i < whole; i += 8) state.absorb(get(data + i, 8));
    state.absorb(get(data + whole, size - whole) | static_cast<uint64_t>(size & 0xff) << 56);
    state.v2 ^= 0xff;
    for (int i = 0; i < 4; ++i) state.round();
    return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

Wire seal(const Packet& packet, const Secret& secret) {
    Wire wire{};
    put(&wire[0], kMagic, 4);
    put(&wire[4], kVersion, 1);
    put(&wire[5], static_cast<uint8_t>(packet.message), 1);
    put(&wire[8], packet.round, 4);
    put(&wire[12], packet.source, 4);
    put(&wire[16], packet.destination, 4);
    put(&wire[20], packet.sequence, 4);
    put(&wire[kSignedBytes], siphash(wire.data(), kSignedBytes, secret), 8);
    return wire;
}

bool open(const uint8_t* data, size_t size, const Secret& secret, Packet* packet) {
    if (size != kPacketBytes || get(data, 4) != kMagic || data[4] != kVersion) return false;
    // One word, compared at once: how long it takes says nothing of where the two differ.
    if (get(data + kSignedBytes, 8) != siphash(data, kSignedBytes, secret)) return false;
    packet->message = static_cast<Message>(data[5]);
    packet->round = static_cast<uint32_t>(get(data + 8, 4));
    packet->source = static_cast<uint32_t>(get(data + 12, 4));
    packet->destination = static_cast<uint32_t>(get(data + 16, 4));
    packet->sequence = static_cast<uint32_t>(get(data + 20, 4));
    return true;
}

}  // namespace plink
