#include "local_socket.hpp"

#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace plink::transport {

namespace {

// Of an abstract name the first byte is zero.
std::string name_of(const Endpoint& endpoint) {
    return std::string(1, '\0') + "plink/" + endpoint.host + "/" + std::to_string(endpoint.port);
}

/// Room for one descriptor beside the bytes of a message.
union Along {
    char bytes[CMSG_SPACE(sizeof(int))];
    cmsghdr align;
};

}  // namespace

Descriptor call_on_this_host(const Endpoint& endpoint) {
    const std::string name = name_of(endpoint);
    sockaddr_un address{};
    if (name.size() > sizeof(address.sun_path)) return Descriptor();
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.is_open() ||
        ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        !is_of_this_user(socket.get())) {
        return Descriptor();
    }
    return socket;
}

bool is_of_this_user(int fd) {
    ucred its{};
    socklen_t size = sizeof(its);
    return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &its, &size) == 0 && its.uid == ::geteuid();
}

ssize_t send_with(int fd, const void* bytes, std::size_t size, const Descriptor& along) {
    iovec piece{const_cast<void*>(bytes), size};
    Along control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int handle = along.get();
    std::memcpy(CMSG_DATA(header), &handle, sizeof(handle));
    return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

ssize_t receive_with(int fd, void* bytes, std::size_t size, Descriptor& along) {
    iovec piece{bytes, size};
    Along control{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    // With the padding there would be room for two; the kernel closes those that there is none for.
    message.msg_controllen = CMSG_LEN(sizeof(int));
    const ssize_t got = ::recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (got < 0) return got;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        int handle;
        std::memcpy(&handle, CMSG_DATA(header), sizeof(handle));
        along = Descriptor(handle);
    }
    return got;
}

}  // namespace plink::transport
