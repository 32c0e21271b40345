#include "socket.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace plink::transport {

namespace {

constexpr std::uint32_t kNear_us = 500;
constexpr std::uint32_t kDistant_us = 10'000;
// What the kernel says of a connection that has not measured one yet.
constexpr std::uint32_t kUnknown_us = UINT32_MAX;
constexpr std::size_t kCongestionNameBytes = 16;

// Of the time after which firewalls forget a connection the shortest that is usual is some minutes.
constexpr int kKeepAlive_s = 60;

// Low-latency data (AF22, RFC 4594, section 4.7), of whose code points this is the one that Linux's
// queues and routers take for interactive: it has the bit of the older "low delay" (ip_tos2prio).
constexpr int kTypeOfService = 0x50;
// TC_PRIO_INTERACTIVE, the most that needs no privilege; IPv6 does not derive it from the class.
constexpr int kPriority = 6;

std::uint32_t least_round_trip_us(int fd) {
    tcp_info info{};
    socklen_t size = sizeof(info);
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return kUnknown_us;
    return info.tcpi_min_rtt;
}

}  // namespace

void Descriptor::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

Alarm::Alarm() : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!event_.is_open()) throw std::runtime_error("no eventfd: " + text_of(errno));
}

void Alarm::ring() const {
    const std::uint64_t one = 1;
    // It can only fail where the alarm rings already.
    [[maybe_unused]] const auto written = ::write(event_.get(), &one, sizeof(one));
}

void Alarm::silence() const {
    std::uint64_t count;
    [[maybe_unused]] const auto read = ::read(event_.get(), &count, sizeof(count));
}

std::string text_of(const Endpoint& endpoint) {
    return endpoint.host + " port " + std::to_string(endpoint.port);
}

socklen_t socket_address(const Endpoint& endpoint, sockaddr_storage& address) {
    std::memset(&address, 0, sizeof(address));
    auto* v4 = reinterpret_cast<sockaddr_in*>(&address);
    if (::inet_pton(AF_INET, endpoint.host.c_str(), &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(endpoint.port);
        return sizeof(*v4);
    }
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&address);
    if (::inet_pton(AF_INET6, endpoint.host.c_str(), &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(endpoint.port);
        return sizeof(*v6);
    }
    throw std::runtime_error("no numeric address: " + endpoint.host);
}

void set_up(int fd, const std::string& congestion) {
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (!congestion.empty()) set_congestion_control(fd, congestion);
}

void set_congestion_control(int fd, const std::string& name) {
    if (::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                     static_cast<socklen_t>(name.size())) != 0) {
        throw std::runtime_error("no TCP congestion control " + name + " here: " + text_of(errno));
    }
}

std::string congestion_control(int fd) {
    char name[kCongestionNameBytes] = "";
    socklen_t size = sizeof(name);
    if (::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) != 0) return {};
    return {name, ::strnlen(name, size)};
}

void send_from(int fd, int family, const std::string& host) {
    sockaddr_storage address;
    const socklen_t size = socket_address({host, 0}, address);
    if (address.ss_family != family) return;
    const int on = 1;
    // The port is chosen once it is known whom it has to tell apart from others.
    ::setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) {
        throw std::runtime_error("cannot send from " + host + ": " + text_of(errno));
    }
}

void limit_silence(int fd, double seconds) {
    const int on = 1;
    const int limit_ms = static_cast<int>(seconds * 1000);
    const int idle_s = std::max(1, static_cast<int>(seconds / 2));
    const int interval_s = std::max(1, static_cast<int>(seconds / 6));
    const int probes = 3;
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof(interval_s));
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
    ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
}

void keep_alive(int fd) {
    const int on = 1;
    ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &kKeepAlive_s, sizeof(kKeepAlive_s));
    ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &kKeepAlive_s, sizeof(kKeepAlive_s));
}

void ask_for_low_delay(int fd) {
    // One of the two is refused: a socket is of IPv4 or of IPv6.
    ::setsockopt(fd, IPPROTO_IP, IP_TOS, &kTypeOfService, sizeof(kTypeOfService));
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &kTypeOfService, sizeof(kTypeOfService));
    ::setsockopt(fd, SOL_SOCKET, SO_PRIORITY, &kPriority, sizeof(kPriority));
}

void bound_send_buffer(int fd, int bytes) {
    ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

void bound_unsent(int fd, int bytes) {
    ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof(bytes));
}

bool is_near(int fd) { return least_round_trip_us(fd) <= kNear_us; }

bool is_distant(int fd) {
    const std::uint32_t least_us = least_round_trip_us(fd);
    return least_us >= kDistant_us && least_us != kUnknown_us;
}

std::string host_text(const sockaddr_storage& address) {
    char text[INET6_ADDRSTRLEN] = "";
    const bool is_v4 = address.ss_family == AF_INET;
    const void* its = &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
    if (!is_v4) its = &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    const char* const said = ::inet_ntop(is_v4 ? AF_INET : AF_INET6, its, text, sizeof(text));
    return said != nullptr ? said : "an unknown address";
}

int segment_bytes(int fd) {
    int bytes = 0;
    socklen_t size = sizeof(bytes);
    return ::getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &bytes, &size) == 0 ? bytes : 0;
}

void wait_until_sent(int fd, std::chrono::steady_clock::time_point until) {
    for (;;) {
        int unsent = 0;
        ::ioctl(fd, SIOCOUTQ, &unsent);
        if (unsent == 0 || std::chrono::steady_clock::now() >= until) return;
        // With no events asked for, it tells only that the connection broke.
        pollfd polled{fd, 0, 0};
        if (::poll(&polled, 1, 1) > 0 && (polled.revents & (POLLERR | POLLHUP))) return;
    }
}

bool is_out_of_descriptors() { return errno == EMFILE || errno == ENFILE; }

std::string text_of(int error) { return std::generic_category().message(error); }

}  // namespace plink::transport
