#include "dpdk_transport.hpp"

#include <poll.h>
#include <rte_pause.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "../../echo/agent/clock.hpp"

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

}  // namespace

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

}  // namespace plink
