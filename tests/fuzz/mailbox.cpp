// Fuzzes what an agent does with packets, over real sockets on loopback. Invariants: no packet is
// answered by more bytes than it has, answers go to the host that the packet names, and a packet
// that is handed on concerns the pair that is being met.

#include "probes/echo/agent/mailbox.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "check.hpp"
#include "probes/echo/agent/clock.hpp"
#include "probes/echo/agent/kernel_transport.hpp"

namespace {

constexpr size_t kSignedBytes = 24;
constexpr size_t kRecordBytes = 2 + kSignedBytes;
constexpr plink::Secret kSecret{0x8899aabbccddeeff, 0x0011223344556677};

int open_peer(sockaddr_in* address) {
    int peer = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof *address;
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    FUZZ_CHECK(bind(peer, reinterpret_cast<sockaddr*>(address), size) == 0);
    FUZZ_CHECK(getsockname(peer, reinterpret_cast<sockaddr*>(address), &size) == 0);
    return peer;
}

// An agent that is host 1 among three, and the sockets of the other two.
class Bench {
  public:
    Bench() {
        int ends[2];
        FUZZ_CHECK(pipe2(ends, O_NONBLOCK) == 0 && dup2(ends[0], STDIN_FILENO) >= 0);
        say_ = ends[1];
        std::string text =
            "run 1 5 400 granted 00112233445566778899aabbccddeeff\npercentiles 10\n"
            "bind 127.0.0.1 0\n";
        for (int host : {0, 2}) peers_[host] = open_peer(&addresses_[host]);
        tell(text);
        // The port is printed, and the kernel knows it: the next descriptor is the agent's socket.
        int next = dup(STDIN_FILENO);
        close(next);
        FUZZ_CHECK(mailbox_.open_port());
        socklen_t size = sizeof agent_;
        FUZZ_CHECK(getsockname(next, reinterpret_cast<sockaddr*>(&agent_), &size) == 0);
        text.clear();
        for (int host : {0, 2}) {
            text += "peer " + std::to_string(host) + " 127.0.0.1 " +
                    std::to_string(ntohs(addresses_[host].sin_port)) + "\n";
        }
        tell(text + "pair 3 0 probe\npair 5 2 answer\npair 7 0 answer\npair 8 2 probe\nstart\n");
        mailbox_.start();
    }

    plink::Mailbox& mailbox() { return mailbox_; }

    void send(int host, const uint8_t* data, size_t size) {
        FUZZ_CHECK(sendto(peers_[host], data, size, 0, reinterpret_cast<sockaddr*>(&agent_),
                          sizeof agent_) == static_cast<ssize_t>(size));
    }

    // What the agent has sent to a host, in bytes.
    size_t received(int host) {
        uint8_t data[2048];
        size_t total = 0;
        for (ssize_t size; (size = recv(peers_[host], data, sizeof data, 0)) >= 0;) {
            plink::Packet packet;
            FUZZ_CHECK(plink::open(data, static_cast<size_t>(size), kSecret, &packet));
            FUZZ_CHECK(packet.source == 1 && packet.destination == static_cast<uint32_t>(host));
            total += static_cast<size_t>(size);
        }
        return total;
    }

  private:
    void tell(const std::string& text) {
        FUZZ_CHECK(write(say_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
        plink::Packet packet;
        mailbox_.next(plink::now_ns() + plink::kSecond, &packet);
    }

    plink::KernelTransport transport_;
    plink::Mailbox mailbox_{&transport_};
    int say_ = -1;
    int peers_[3] = {};
    sockaddr_in addresses_[3] = {};
    sockaddr_in agent_{};
};

// The packet of a record: as it stands, or with the marks and the proof that let it in.
plink::Wire wire_of(const uint8_t* record) {
    plink::Wire wire{};
    std::memcpy(wire.data(), record + 2, kSignedBytes);
    if (record[0] % 8 == 0) return wire;
    plink::Wire model = plink::seal(plink::Packet{}, kSecret);
    std::memcpy(wire.data(), model.data(), 5);
    uint64_t proof = plink::siphash(wire.data(), kSignedBytes, kSecret);
    for (size_t i = 0; i < 8; ++i) {
        wire[kSignedBytes + i] = static_cast<uint8_t>(proof >> (8 * i));
    }
    return wire;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    return std::freopen("/dev/null", "w", stdout) == nullptr;
}

// A record is: who sends, how much of it, and the packet's fields. The first byte of the input says
// which pair is being met, and which are done.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Bench bench;
    plink::Mailbox& mailbox = bench.mailbox();
    if (size == 0) return 0;
    mailbox.start();
    for (size_t done = 0; done < 4; ++done) {
        if ((data[0] >> (4 + done) & 1) == 0) continue;
        mailbox.set_current(done);
        mailbox.finish_current();
    }
    size_t position = data[0] % 8;
    bool is_met = position < 4 && mailbox.is_open(position);
    if (is_met) mailbox.set_current(position);
    for (size_t at = 1; at + kRecordBytes <= size; at += kRecordBytes) {
        const uint8_t* record = data + at;
        int host = record[0] & 64 ? 2 : 0;
        plink::Wire wire = wire_of(record);
        size_t sent = record[1] % 8 == 0 ? record[1] / 8 : wire.size();
        bench.send(host, wire.data(), sent);
        plink::Packet packet;
        if (mailbox.next(plink::now_ns(), &packet)) {
            const plink::Pair& pair = mailbox.run().pairs[position];
            FUZZ_CHECK(is_met && packet.round == pair.round && packet.source == pair.partner);
            FUZZ_CHECK(static_cast<int>(packet.source) == host && sent == wire.size());
        }
        FUZZ_CHECK(bench.received(host) <= sent);
        FUZZ_CHECK(bench.received(2 - host) == 0);
    }
    if (is_met) mailbox.finish_current();
    return 0;
}
