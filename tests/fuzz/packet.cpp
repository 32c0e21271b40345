// Fuzzes the packet parser. Invariants: it takes nothing but whole packets whose proof holds, what
// it takes is what was sealed, and one changed bit anywhere makes it refuse.

#include "probes/echo/agent/packet.hpp"

#include <algorithm>
#include <cstring>

#include "check.hpp"

using plink::kPacketBytes;
using plink::Packet;
using plink::Secret;
using plink::Wire;

namespace {

constexpr Secret kSecret{0x0123456789abcdef, 0xfedcba9876543210};
constexpr size_t kSignedBytes = 24;

void check_same(const Packet& one, const Packet& other) {
    FUZZ_CHECK(one.message == other.message && one.round == other.round);
    FUZZ_CHECK(one.source == other.source && one.destination == other.destination);
    FUZZ_CHECK(one.sequence == other.sequence);
}

// A packet with the input's fields and a right proof, which no fuzzer would guess.
void check_sealed(const uint8_t* data, size_t size) {
    Packet packet;
    std::memcpy(&packet.round, data, 4);
    std::memcpy(&packet.source, data + 4, 4);
    std::memcpy(&packet.destination, data + 8, 4);
    std::memcpy(&packet.sequence, data + 12, 4);
    packet.message = static_cast<plink::Message>(data[16]);
    Wire wire = plink::seal(packet, kSecret);
    Packet opened;
    FUZZ_CHECK(plink::open(wire.data(), wire.size(), kSecret, &opened));
    check_same(packet, opened);
    size_t bit = data[17];
    wire[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    FUZZ_CHECK(!plink::open(wire.data(), wire.size(), kSecret, &opened));
    FUZZ_CHECK(!plink::open(wire.data(), size % kPacketBytes, kSecret, &opened));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Packet packet;
    if (plink::open(data, size, kSecret, &packet)) {
        FUZZ_CHECK(size == kPacketBytes);
        Wire again = plink::seal(packet, kSecret);
        // Two bytes are reserved: a packet that has something there is sealed differently.
        bool is_plain = data[6] == 0 && data[7] == 0;
        FUZZ_CHECK(!is_plain || std::equal(again.begin(), again.end(), data));
    }
    // The hash reads any length to its end and no further: the sanitizer sees to it.
    (void)plink::siphash(data, size, kSecret);
    if (size >= kSignedBytes) check_sealed(data, size);
    return 0;
}
