// plink's echo agent: measures the round-trip times between this host and others of one run.
//
// The coordinator speaks on standard input, results go to standard output, and the agent ends when
// its standard input does. Both are lines of text, described in probes/echo/protocol.py.

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "agent.hpp"

namespace plink {
namespace {

// UDP of the kernel.
class KernelTransport : public Transport {
  public:
    bool open(const Endpoint& wanted, Endpoint* bound) override;
    Ready wait(int64_t deadline_ns, bool eager) override;
    int receive(uint8_t* data, size_t most, Endpoint* from, int64_t* received_ns) override;
    void send(const Endpoint& to, const uint8_t* data, size_t size) override;

  private:
    int socket_ = -1;
};

bool KernelTransport::open(const Endpoint& wanted, Endpoint* bound) {
    socket_ = socket(wanted.address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const auto* address = reinterpret_cast<const sockaddr*>(&wanted.address);
    if (socket_ < 0 || bind(socket_, address, wanted.size) != 0) {
        std::fprintf(stderr, "cannot open its UDP port: %s\n", std::strerror(errno));
        return false;
    }
    bound->size = sizeof bound->address;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&bound->address), &bound->size);
    return true;
}

Ready KernelTransport::wait(int64_t deadline_ns, bool) {
    int64_t left_ns = std::max<int64_t>(deadline_ns - now_ns(), 0);
    timespec left{left_ns / kSecond, left_ns % kSecond};
    pollfd waiting[2] = {{STDIN_FILENO, POLLIN, 0}, {socket_, POLLIN, 0}};
    int ready = ppoll(waiting, socket_ < 0 ? 1 : 2, &left, nullptr);
    return {ready > 0 && waiting[0].revents != 0, ready > 0 && waiting[1].revents != 0};
}

int KernelTransport::receive(uint8_t* data, size_t most, Endpoint* from, int64_t* received_ns) {
    from->size = sizeof from->address;
    ssize_t size = recvfrom(socket_, data, most, MSG_DONTWAIT,
                            reinterpret_cast<sockaddr*>(&from->address), &from->size);
    *received_ns = now_ns();
    return static_cast<int>(size);
}

void KernelTransport::send(const Endpoint& to, const uint8_t* data, size_t size) {
    (void)!sendto(socket_, data, size, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&to.address),
                  to.size);
}

}  // namespace
}  // namespace plink

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--version") == 0) {
        std::puts("plink-echo-agent 1");
        return 0;
    }
    if (argc != 1) {
        std::fputs("plink-echo-agent takes no arguments; plink probe starts it\n", stderr);
        return 2;
    }
    plink::KernelTransport transport;
    return plink::Agent(&transport).run();
}
