// Fuzzes what the DPDK agent reads from the wire: Ethernet frames with UDP over IPv4 and IPv6, and
// ARP. Invariants: it reads within the frame, the payload lies in the frame, and what was written
// is read again.

#include "probes/dpdk/agent/frame.hpp"

#include <vector>

#include "check.hpp"

using plink::Datagram;
using plink::Endpoint;

namespace {

constexpr plink::Mac kHere{2, 0, 0, 0, 0, 1};
constexpr plink::Mac kThere{2, 0, 0, 0, 0, 2};

void check_read(const uint8_t* frame, size_t size) {
    Datagram datagram;
    if (plink::read_datagram(frame, size, &datagram)) {
        FUZZ_CHECK(datagram.data >= frame && datagram.data + datagram.size <= frame + size);
    }
    plink::Arp arp;
    if (plink::read_arp(frame, size, &arp)) FUZZ_CHECK(size >= plink::kArpFrame);
}

// A frame with right checksums, which no fuzzer would guess, and then one changed byte in it.
void check_written(const uint8_t* data, size_t size) {
    Endpoint from, to;
    bool is_v6 = data[0] & 1;
    auto port = static_cast<uint16_t>(data[1] << 8 | data[2]);
    FUZZ_CHECK(Endpoint::parse(is_v6 ? "fe80::1" : "10.0.0.1", port, &from));
    FUZZ_CHECK(Endpoint::parse(is_v6 ? "fe80::2" : "10.0.0.2", port ^ 1, &to));
    std::vector<uint8_t> frame(plink::kMostFrame);
    size_t written = plink::write_datagram(frame.data(), kHere, kThere, from, to, data, size);
    FUZZ_CHECK((written == 0) == (size > plink::kMostPayload));
    if (written == 0) return;
    frame.resize(written);
    Datagram datagram;
    FUZZ_CHECK(plink::read_datagram(frame.data(), frame.size(), &datagram));
    FUZZ_CHECK(datagram.from == from && datagram.to == to && datagram.size == size);
    frame[data[3] % written] ^= data[4];
    std::vector<uint8_t> cut(frame.begin(), frame.begin() + data[5] % (written + 1));
    check_read(frame.data(), frame.size());
    check_read(cut.data(), cut.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // What the agent hands to these functions holds at least an Ethernet header.
    if (size >= plink::kEthernetBytes) check_read(data, size);
    if (size >= 6) check_written(data, size);
    return 0;
}
