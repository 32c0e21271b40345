#include "routes.hpp"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "attachment.hpp"

namespace plink {
namespace {

constexpr size_t kAnswerBytes = 1 << 15;
constexpr timeval kAnswerWithin{0, 200000};

template <typename Body>
std::vector<uint8_t> request_of(uint16_t type, uint16_t flags, const Body& body) {
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    std::vector<uint8_t> request(NLMSG_SPACE(sizeof body));
    std::memcpy(request.data(), &header, sizeof header);
    std::memcpy(request.data() + NLMSG_HDRLEN, &body, sizeof body);
    return request;
}

void add_attribute(std::vector<uint8_t>* request, uint16_t type, const void* value, size_t size) {
    rtattr attribute{static_cast<uint16_t>(RTA_LENGTH(size)), type};
    size_t begin = request->size();
    request->resize(begin + RTA_SPACE(size));
    std::memcpy(request->data() + begin, &attribute, sizeof attribute);
    std::memcpy(request->data() + begin + RTA_LENGTH(0), value, size);
}

// The value of an attribute among those from `first` on, if it has at least `size` bytes.
const uint8_t* attribute_in(const rtattr* first, size_t bytes, uint16_t type, size_t size) {
    int left = static_cast<int>(bytes);
    for (const rtattr* at = first; RTA_OK(at, left); at = RTA_NEXT(at, left)) {
        if (at->rta_type == type && RTA_PAYLOAD(at) >= size) {
            return static_cast<const uint8_t*>(RTA_DATA(at));
        }
    }
    return nullptr;
}

}  // namespace

bool Routes::open(const Endpoint& from, int interface) {
    from_ = from;
    interface_ = interface;
    socket_ = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (socket_ < 0) {
        return print_error(std::string("cannot ask the kernel for routes: ") +
                           std::strerror(errno));
    }
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &kAnswerWithin, sizeof kAnswerWithin);
    return true;
}

template <typename Each>
void Routes::ask(std::vector<uint8_t>* request, Each each) {
    auto* header = reinterpret_cast<nlmsghdr*>(request->data());
    header->nlmsg_len = static_cast<uint32_t>(request->size());
    header->nlmsg_seq = ++sequence_;
    bool is_dump = (header->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
    if (::send(socket_, request->data(), request->size(), 0) < 0) return;
    std::vector<uint8_t> answer(kAnswerBytes);
    for (;;) {
        ssize_t got = recv(socket_, answer.data(), answer.size(), 0);
        if (got <= 0) return;
        auto left = static_cast<unsigned>(got);
        for (auto* at = reinterpret_cast<nlmsghdr*>(answer.data()); NLMSG_OK(at, left);
             at = NLMSG_NEXT(at, left)) {
            // A late answer to an earlier question.
            if (at->nlmsg_seq != sequence_) continue;
            if (at->nlmsg_type == NLMSG_DONE || at->nlmsg_type == NLMSG_ERROR) return;
            each(*at);
            if (!is_dump) return;
        }
    }
}

bool Routes::gateway(const Endpoint& to, Endpoint* gateway) {
    int interface = 0, ours = interface_;
    if (!route(to, gateway, &interface)) return false;
    // Where another interface is nearer, packets still leave by the one whose address they carry.
    return interface == interface_ || route(to, gateway, &ours);
}

// By any interface where `*interface` is 0; says which.
bool Routes::route(const Endpoint& to, Endpoint* gateway, int* interface) {
    size_t size = to.byte_count();
    rtmsg body{};
    body.rtm_family = static_cast<uint8_t>(to.family());
    body.rtm_dst_len = body.rtm_src_len = static_cast<uint8_t>(8 * size);
    std::vector<uint8_t> request = request_of(RTM_GETROUTE, 0, body);
    add_attribute(&request, RTA_DST, to.bytes(), size);
    add_attribute(&request, RTA_SRC, from_.bytes(), size);
    if (*interface != 0) add_attribute(&request, RTA_OIF, interface, sizeof *interface);
    bool found = false;
    ask(&request, [&](const nlmsghdr& header) {
        if (header.nlmsg_type != RTM_NEWROUTE) return;
        const auto* answer = static_cast<const rtmsg*>(NLMSG_DATA(&header));
        const rtattr* first = RTM_RTA(answer);
        size_t bytes = RTM_PAYLOAD(&header);
        const uint8_t* out = attribute_in(first, bytes, RTA_OIF, sizeof *interface);
        if (answer->rtm_type != RTN_UNICAST || out == nullptr) return;
        std::memcpy(interface, out, sizeof *interface);
        const uint8_t* plain = attribute_in(first, bytes, RTA_GATEWAY, size);
        // A gateway of the other family (RFC 5549) is two bytes of family and its address.
        const uint8_t* other = attribute_in(first, bytes, RTA_VIA, 2 + sizeof(in6_addr));
        if (other != nullptr) {
            *gateway = Endpoint::of(AF_INET6, other + 2, 0);
        } else {
            *gateway = plain != nullptr ? Endpoint::of(answer->rtm_family, plain, 0) : to;
        }
        found = true;
    });
    return found;
}

bool Routes::neighbour(const Endpoint& who, Mac* mac) {
    size_t size = who.byte_count();
    ndmsg body{};
    body.ndm_family = static_cast<uint8_t>(who.family());
    std::vector<uint8_t> request = request_of(RTM_GETNEIGH, NLM_F_DUMP, body);
    add_attribute(&request, NDA_IFINDEX, &interface_, sizeof interface_);
    constexpr unsigned kUsable =
        NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;
    bool found = false;
    ask(&request, [&](const nlmsghdr& header) {
        if (header.nlmsg_type != RTM_NEWNEIGH) return;
        const auto* entry = static_cast<const ndmsg*>(NLMSG_DATA(&header));
        if (entry->ndm_ifindex != interface_ || (entry->ndm_state & kUsable) == 0) return;
        const auto* first = reinterpret_cast<const rtattr*>(
            reinterpret_cast<const uint8_t*>(entry) + NLMSG_ALIGN(sizeof *entry));
        size_t bytes = NLMSG_PAYLOAD(&header, sizeof *entry);
        const uint8_t* it = attribute_in(first, bytes, NDA_DST, size);
        const uint8_t* link = attribute_in(first, bytes, NDA_LLADDR, mac->size());
        if (it == nullptr || link == nullptr || std::memcmp(it, who.bytes(), size) != 0) return;
        std::copy_n(link, mac->size(), mac->begin());
        found = true;
    });
    return found;
}

}  // namespace plink
