#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace plink::transport {

/// A file descriptor that closes itself.
class Descriptor {
  public:
    Descriptor() = default;
    explicit Descriptor(int fd) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    ~Descriptor() { reset(); }

    int get() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }
    void reset();

  private:
    int fd_ = -1;
};

/// Wakes a thread that waits in epoll or poll.
class Alarm {
  public:
    Alarm();
    int fd() const { return event_.get(); }
    void ring() const;
    void silence() const;

  private:
    Descriptor event_;
};

struct Endpoint {
    std::string host;  ///< a numeric IPv4 or IPv6 address
    std::uint16_t port;
};

/// For people.
std::string text_of(const Endpoint& endpoint);

/// Throws std::runtime_error where `host` is no numeric address.
socklen_t socket_address(const Endpoint& endpoint, sockaddr_storage& address);

/// What every TCP connection gets. An empty `congestion` keeps the system's.
///
/// Throws std::runtime_error where this user may not have that congestion control.
void set_up(int fd, const std::string& congestion);

/// Throws std::runtime_error where this user may not have that congestion control.
void set_congestion_control(int fd, const std::string& name);

/// What a TCP connection has; empty where the kernel does not say.
std::string congestion_control(int fd);

/// Makes a socket that is about to connect send from an address of this host, where it is of the
/// peer's family. Throws std::runtime_error where that is not this host's.
void send_from(int fd, int family, const std::string& host);

/// Ends a connection whose peer's host fell silent. Not for connections that a peer may leave
/// unread: the kernel counts data that wait for room at the receiver as unacknowledged.
void limit_silence(int fd, double seconds);

/// Keeps an idle connection known to what lies between the hosts, such as a firewall: another plan
/// may send on it after hours. A peer that does not read is no less alive.
void keep_alive(int fd);

/// Asks queues on the way, of this host and of others, to send what is on this connection first.
/// For little bytes that others wait for. Whoever does not honour it treats them as all others.
void ask_for_low_delay(int fd);

/// Bounds what waits in the kernel to be sent or acknowledged.
void bound_send_buffer(int fd, int bytes);

/// Bounds what waits in the kernel to be sent, apart from what is under way.
void bound_unsent(int fd, int bytes);

/// Whether the least round trip of a connection so far says that the peer's host is near.
bool is_near(int fd);

/// Whether it says that the peer's host is in another region.
bool is_distant(int fd);

/// A caller's address, as people write it.
std::string host_text(const sockaddr_storage& address);

/// The most bytes that one segment of a connection carries; 0 where that is not known.
int segment_bytes(int fd);

/// Waits until the peer's host has all that was sent, the connection broke, or `until`.
void wait_until_sent(int fd, std::chrono::steady_clock::time_point until);

/// Whether the last call of the system failed because no more descriptors may be open.
bool is_out_of_descriptors();

/// Says what `error` (of errno) means.
std::string text_of(int error);

}  // namespace plink::transport
