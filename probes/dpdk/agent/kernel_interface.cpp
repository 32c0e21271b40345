#include <ifaddrs.h>
#include <linux/filter.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "../../echo/agent/scheduling.hpp"
#include "attachment.hpp"
#include "routes.hpp"

namespace plink {
namespace {

// Gateways change, if rarely.
constexpr int64_t kKnownFor = 10 * kSecond;

bool attach_filter(int socket, sock_filter* code, size_t size) {
    sock_fprog program{static_cast<unsigned short>(size), code};
    return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0;
}

// Makes a socket receive nothing any more.
bool drop_everything(int socket) {
    sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    return attach_filter(socket, code, 1);
}

// Makes a packet socket, which sees whole Ethernet frames, receive only those with UDP datagrams
// for this port.
bool pass_udp_port(int packet_socket, uint16_t port) {
    constexpr uint32_t kAll = 1 << 16;
    // Jumps are relative: (if true, if false).
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),  // Ethernet type
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0800, 0, 7),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),  // IPv4: protocol
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 17, 0, 11),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20),  // IPv4: fragment offset
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x1fff, 9, 0),
        BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, 14),  // IPv4: header length
        BPF_STMT(BPF_LD | BPF_H | BPF_IND, 16),   // UDP: destination port
        BPF_JUMP(BPF_JMP | BPF_JA, 4, 0, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x86dd, 0, 5),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),  // IPv6: next header
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 17, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 56),  // UDP: destination port
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, port, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, kAll),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    return attach_filter(packet_socket, code, sizeof code / sizeof *code);
}

bool has_address(const ifaddrs& entry, const Endpoint& wanted) {
    if (entry.ifa_addr == nullptr || entry.ifa_addr->sa_family != wanted.family()) return false;
    Endpoint own;
    own.size = wanted.size;
    std::memcpy(&own.address, entry.ifa_addr, own.size);
    return std::memcmp(own.bytes(), wanted.bytes(), wanted.byte_count()) == 0;
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

class KernelInterface : public Attachment {
  public:
    bool prepare(const Endpoint& wanted, Endpoint* bound,
                 std::vector<std::string>* arguments) override;
    bool attach(Port* port, uint16_t udp_port) override;
    bool next_hop(const Endpoint& to, Mac* mac) override;
    void take(const uint8_t*, size_t) override {}
    int wake_fd() const override { return packet_socket_; }

  private:
    struct Known {
        Mac mac{};
        int64_t until_ns = 0;
    };

    bool find_interface(const Endpoint& address);
    bool hold_port(const Endpoint& wanted, Endpoint* bound);
    bool look_up(const Endpoint& to, Mac* mac);

    std::string name_;
    int index_ = 0;
    int held_ = -1;           // the kernel's UDP socket, which gets nothing
    int packet_socket_ = -1;  // the driver's
    Routes routes_;
    std::map<std::string, Known> known_;  // by the bytes of the address
};

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
    int family = wanted.family();
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
    Known& known = known_[std::string(to.bytes(), to.bytes() + to.byte_count())];
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

}  // namespace

std::unique_ptr<Attachment> attach_by_kernel_interface() {
    return std::make_unique<KernelInterface>();
}

}  // namespace plink
