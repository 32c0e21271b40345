#include "kernel_transport.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "clock.hpp"

namespace plink {

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

}  // namespace plink
