// plink's DPDK agent: the echo agent, with its packets sent and received by DPDK instead of the
// kernel. Without arguments it uses the interface that has the address it is told to bind.

#include <arpa/inet.h>
#include <poll.h>
#include <rte_pause.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../../echo/agent/agent.hpp"
#include "attachment.hpp"
#include "port.hpp"

namespace plink {
namespace {

// How often standard input is looked at while packets are polled for: it takes a system call.
constexpr int64_t kInputEvery = 1 * kMillisecond;
// How long after a packet another one is polled for: far longer than a round trip, and short enough
// that an agent whose partner is silent takes no processor from anybody.
constexpr int64_t kPollFor = 10 * kMillisecond;
// How long to sleep where nothing tells of a packet.
constexpr int64_t kNap = kMillisecond / 5;

// Sleeps until standard input or `wake` has something; true if the former does.
bool sleep_until(int64_t deadline_ns, int wake) {
    int64_t left_ns = std::max<int64_t>(deadline_ns - now_ns(), 0);
    timespec left{left_ns / kSecond, left_ns % kSecond};
    pollfd waiting[2] = {{STDIN_FILENO, POLLIN, 0}, {wake, POLLIN, 0}};
    return ppoll(waiting, wake < 0 ? 1 : 2, &left, nullptr) > 0 && waiting[0].revents != 0;
}

// UDP datagrams in frames that DPDK sends and receives, past the kernel.
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

bool DpdkTransport::open(const Endpoint& wanted, Endpoint* bound) {
    std::vector<std::string> arguments;
    is_open_ = attachment_.prepare(wanted, bound, &arguments) && port_.start(arguments, device_) &&
               attachment_.attach(&port_, bound->port());
    own_ = *bound;
    return is_open_;
}

Ready DpdkTransport::wait(int64_t deadline_ns, bool eager) {
    if (!is_open_) return {sleep_until(deadline_ns, -1), false};
    for (;;) {
        int64_t time_ns = now_ns();
        Ready ready;
        if (time_ns - input_looked_at_ns_ > kInputEvery) {
            input_looked_at_ns_ = time_ns;
            ready.input = sleep_until(0, -1);
        }
        ready.packet = port_.poll();
        time_ns = now_ns();
        if (ready.packet) received_ns_ = time_ns;
        if (ready.input || ready.packet || time_ns >= deadline_ns) return ready;
        if (eager && time_ns - received_ns_ < kPollFor) {
            // The core's other hardware thread may be the partner's, or do the kernel's work.
            rte_pause();
            continue;
        }
        int wake = attachment_.wake_fd();
        int64_t until_ns = wake < 0 ? std::min(deadline_ns, time_ns + kNap) : deadline_ns;
        if (sleep_until(until_ns, wake)) return {true, false};
    }
}

int DpdkTransport::receive(uint8_t* data, size_t most, Endpoint* from, int64_t* received_ns) {
    size_t size = 0;
    const uint8_t* frame = port_.receive(&size);
    if (frame == nullptr) return -1;
    Datagram datagram;
    if (!read_datagram(frame, size, &datagram)) {
        attachment_.take(frame, size);
        return -1;
    }
    if (!(datagram.to == own_)) return -1;
    *from = datagram.from;
    *received_ns = received_ns_;
    size_t taken = std::min(datagram.size, most);
    std::memcpy(data, datagram.data, taken);
    return static_cast<int>(taken);
}

void DpdkTransport::send(const Endpoint& to, const uint8_t* data, size_t size) {
    Mac hop;
    if (!attachment_.next_hop(to, &hop)) return;
    uint8_t frame[kMostFrame];
    port_.send(frame, write_datagram(frame, port_.mac(), hop, own_, to, data, size));
}

}  // namespace
}  // namespace plink

namespace {

int run(plink::Attachment* attachment, const std::string& device) {
    plink::DpdkTransport transport(attachment, device);
    return plink::Agent(&transport).run();
}

bool parse_prefix_length(const char* text, uint32_t* length) {
    char* end = nullptr;
    unsigned long value = std::strtoul(text, &end, 10);
    *length = static_cast<uint32_t>(value);
    return end != text && *end == '\0' && value <= 32;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::puts("plink-dpdk-agent 1");
        return 0;
    }
    if (argc == 1) {
        return run(plink::attach_by_kernel_interface().get(), "its interface");
    }
    plink::OwnedDevice device;
    device.has_gateway = argc == 4;
    if (argc < 3 || argc > 4 || !parse_prefix_length(argv[2], &device.prefix_length) ||
        (device.has_gateway && inet_pton(AF_INET, argv[3], &device.gateway) != 1)) {
        std::fputs(
            "usage: plink-dpdk-agent [DEVICE PREFIX-LENGTH [GATEWAY]]; plink probe starts it\n",
            stderr);
        return 2;
    }
    device.device = argv[1];
    return run(plink::attach_by_owned_nic(device).get(), device.device);
}
