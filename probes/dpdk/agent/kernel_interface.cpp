#include "kernel_interface.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../../echo/agent/clock.hpp"
#include "packet_filter.hpp"
#include "print_error.hpp"

namespace plink {
namespace {

// Gateways change, if rarely.
constexpr int64_t kKnownFor = 10 * kSecond;

bool has_address(const ifaddrs& entry, const Endpoint& wanted) {
    if (entry.ifa_addr == nullptr) return false;
    int family = entry.ifa_addr->sa_family;
    if (family != wanted.address.ss_family) return false;
    if (family == AF_INET) {
        return reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr.s_addr ==
               reinterpret_cast<const sockaddr_in&>(wanted.address).sin_addr.s_addr;
    }
    return family == AF_INET6 &&
           std::memcmp(&reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr,
                       &reinterpret_cast<const sockaddr_in6&>(wanted.address).sin6_addr,
                       sizeof(in6_addr)) == 0;
}

bool is_ethernet(int socket, const std::string& interface) {
    ifreq request{};
    std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
    return ioctl(socket, SIOCGIFHWADDR, &request) == 0 &&
           request.ifr_hwaddr.sa_family == ARPHRD_ETHER;
}

// The driver does not tell its socket: it is the one packet socket that this process has.
int find_packet_socket() {
    for (int fd = 0; fd < FD_SETSIZE; ++fd) {
        int domain = 0;
        socklen_t size = sizeof domain;
        if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_PACKET) {
            return fd;
        }
    }
    return -1;
}

std::array<uint8_t, 16> key_of(const Endpoint& endpoint) {
    std::array<uint8_t, 16> key{};
    if (endpoint.address.ss_family == AF_INET) {
        std::memcpy(&key, &reinterpret_cast<const sockaddr_in&>(endpoint.address).sin_addr, 4);
    } else {
        std::memcpy(&key, &reinterpret_cast<const sockaddr_in6&>(endpoint.address).sin6_addr, 16);
    }
    return key;
}

}  // namespace

bool KernelInterface::prepare(const Endpoint& wanted, Endpoint* bound,
                              std::vector<std::string>* arguments) {
    int raw = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (raw < 0) {
        return print_error(
            errno == EPERM
                ? "it takes root (or the capabilities CAP_NET_RAW and CAP_NET_ADMIN) "
                  "to run DPDK there, and sudo without a password does not help"
                : std::string("has no packet sockets, which DPDK needs: ") + std::strerror(errno));
    }
    bool is_fit = find_interface(wanted);
    if (is_fit && !is_ethernet(raw, name_)) {
        is_fit = print_error("its interface " + name_ + " is not Ethernet, which DPDK needs");
    }
    close(raw);
    if (!is_fit || !hold_port(wanted, bound) || !routes_.open(wanted, index_)) return false;
    *arguments = {"--no-huge",   "--no-pci",
                  "--no-shconf", "-m",
                  "32",          "--vdev=net_af_packet0,iface=" + name_ + ",qdisc_bypass=1"};
    return true;
}

bool KernelInterface::find_interface(const Endpoint& address) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) {
        return print_error(std::string("cannot list its interfaces: ") + std::strerror(errno));
    }
    for (const ifaddrs* entry = all; entry != nullptr && name_.empty(); entry = entry->ifa_next) {
        if (!has_address(*entry, address)) continue;
        // An address may have a label of its own behind the interface's name: eth0:1.
        std::string label = entry->ifa_name;
        name_ = label.substr(0, label.find(':'));
    }
    freeifaddrs(all);
    index_ = static_cast<int>(if_nametoindex(name_.c_str()));
    return index_ != 0 || print_error("no interface there has its traffic address");
}

// Without a socket on the port the kernel would answer every packet that it is unreachable.
bool KernelInterface::hold_port(const Endpoint& wanted, Endpoint* bound) {
    int family = wanted.address.ss_family;
    held_ = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (held_ < 0 || !drop_everything(held_) ||
        bind(held_, reinterpret_cast<const sockaddr*>(&wanted.address), wanted.size) != 0) {
        return print_error(std::string("cannot open its UDP port: ") + std::strerror(errno));
    }
    // What it sends to find next hops leaves by the same interface.
    uint32_t index = htonl(static_cast<uint32_t>(index_));
    if (family == AF_INET) {
        setsockopt(held_, IPPROTO_IP, IP_UNICAST_IF, &index, sizeof index);
    } else {
        setsockopt(held_, IPPROTO_IPV6, IPV6_UNICAST_IF, &index, sizeof index);
    }
    bound->size = sizeof bound->address;
    getsockname(held_, reinterpret_cast<sockaddr*>(&bound->address), &bound->size);
    return true;
}

bool KernelInterface::attach(Port*, uint16_t udp_port) {
    packet_socket_ = find_packet_socket();
    // Else whatever the host receives would fill the driver's queue.
    return (packet_socket_ >= 0 && pass_udp_port(packet_socket_, udp_port)) ||
           print_error(std::string("cannot filter the packets of ") + name_ + ": " +
                       std::strerror(errno));
}

bool KernelInterface::next_hop(const Endpoint& to, Mac* mac) {
    Known& known = known_[key_of(to)];
    int64_t time_ns = now_ns();
    if (time_ns >= known.until_ns) {
        bool was_known = known.until_ns != 0;
        if (!look_up(to, &known.mac) && !was_known) return false;
        known.until_ns = time_ns + kKnownFor;
    }
    *mac = known.mac;
    return true;
}

bool KernelInterface::look_up(const Endpoint& to, Mac* mac) {
    Endpoint gateway;
    if (!routes_.gateway(to, &gateway)) return false;
    if (routes_.neighbour(gateway, mac)) return true;
    // The kernel resolves a next hop when it has a packet for it.
    (void)!sendto(held_, nullptr, 0, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&to.address),
                  to.size);
    return false;
}

}  // namespace plink
