// Fuzzes what an agent does with packets. Invariants: no packet is answered by more bytes than it
// has, an answer goes to the host that the packet names, and a packet that is handed on concerns
// the pair that is being met.

#include "probes/echo/agent/mailbox.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

constexpr size_t kSignedBytes = 24;
constexpr size_t kRecordBytes = 2 + kSignedBytes;
constexpr plink::Secret kSecret{0x8899aabbccddeeff, 0x0011223344556677};
const char* const kSaid =
    "run 1 5 400 granted 00112233445566778899aabbccddeeff\npercentiles 10\nbind 10.0.0.1 7\n"
    "peer 0 10.0.0.2 8\npeer 2 fe80::3 9\n"
    "pair 3 0 probe\npair 5 2 answer\npair 7 0 answer\npair 8 2 probe\nstart\n";
constexpr size_t kPairs = 4;

struct Sent {
    plink::Endpoint to;
    std::vector<uint8_t> data;
};

// A network of one packet at a time.
class MemoryTransport : public plink::Transport {
  public:
    bool open(const plink::Endpoint&, plink::Endpoint*) override { return true; }

    plink::Ready wait(int64_t, bool) override {
        plink::Ready ready;
        std::swap(ready.input, has_input);
        ready.packet = has_packet;
        return ready;
    }

    int receive(uint8_t* data, size_t most, plink::Endpoint* from, int64_t* received_ns) override {
        FUZZ_CHECK(has_packet);
        has_packet = false;
        size_t taken = std::min(most, packet.data.size());
        std::copy_n(packet.data.begin(), taken, data);
        *from = packet.to;
        *received_ns = 1;
        return static_cast<int>(taken);
    }

    void send(const plink::Endpoint& to, const uint8_t* data, size_t size) override {
        answers.push_back({to, {data, data + size}});
    }

    bool has_input = false;
    bool has_packet = false;
    Sent packet;
    std::vector<Sent> answers;
};

// An agent that is host 1 among three.
struct Bench {
    Bench() {
        int ends[2];
        size_t size = std::strlen(kSaid);
        FUZZ_CHECK(pipe2(ends, O_NONBLOCK) == 0 && dup2(ends[0], STDIN_FILENO) >= 0);
        FUZZ_CHECK(write(ends[1], kSaid, size) == static_cast<ssize_t>(size));
        transport.has_input = true;
        plink::Packet packet;
        FUZZ_CHECK(!mailbox.next(0, &packet) && mailbox.control().has_start());
    }

    MemoryTransport transport;
    plink::Mailbox mailbox{&transport};
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

void check_answers(const std::vector<Sent>& answers, const Sent& question, uint32_t host) {
    FUZZ_CHECK(answers.size() <= 1);
    for (const Sent& answer : answers) {
        plink::Packet packet;
        FUZZ_CHECK(answer.data.size() <= question.data.size() && answer.to == question.to);
        FUZZ_CHECK(plink::open(answer.data.data(), answer.data.size(), kSecret, &packet));
        FUZZ_CHECK(packet.source == 1 && packet.destination == host);
    }
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    return std::freopen("/dev/null", "w", stdout) == nullptr;
}

// A record is: who sends, how much of it, and the packet's fields. The first byte of the input says
// which pair is being met, and which are done.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Bench bench;
    plink::Mailbox& mailbox = bench.mailbox;
    if (size == 0) return 0;
    mailbox.start();
    for (size_t done = 0; done < kPairs; ++done) {
        if ((data[0] >> (4 + done) & 1) == 0) continue;
        mailbox.set_current(done);
        mailbox.finish_current();
    }
    size_t position = data[0] % 8;
    bool is_met = position < kPairs && mailbox.is_open(position);
    if (is_met) mailbox.set_current(position);
    for (size_t at = 1; at + kRecordBytes <= size; at += kRecordBytes) {
        const uint8_t* record = data + at;
        uint32_t host = record[0] & 64 ? 2 : 0;
        plink::Wire wire = wire_of(record);
        size_t sent = record[1] % 8 == 0 ? record[1] / 8 : wire.size();
        Sent question{mailbox.run().peers.find(host)->endpoint,
                      {wire.begin(), wire.begin() + sent}};
        bench.transport.packet = question;
        bench.transport.has_packet = true;
        bench.transport.answers.clear();
        plink::Packet packet;
        if (mailbox.next(0, &packet)) {
            const plink::Pair& pair = mailbox.run().pairs[position];
            FUZZ_CHECK(is_met && packet.round == pair.round && packet.source == pair.partner);
            FUZZ_CHECK(packet.source == host && sent == wire.size());
        }
        check_answers(bench.transport.answers, question, host);
    }
    if (is_met) mailbox.finish_current();
    return 0;
}
