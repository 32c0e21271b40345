// Two processes of one host and a stream of bytes between them: by loopback TCP, by a Unix socket,
// and through the engine's shared memory. Prints a line for each repetition and kind:
//   kind, GB/s of a long stream in messages of 256 KB, µs of a round trip of 4 KB.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "shared_memory.hpp"

namespace {

using namespace plink::transport;

constexpr std::size_t kMessageBytes = 256 << 10;
constexpr std::size_t kMessages = 4000;
constexpr std::size_t kSmallBytes = 4096;
constexpr std::size_t kRoundTrips = 5000;
constexpr int kSendBufferBytes = 256 << 10;

void require(bool is_so, const char* what) {
    if (is_so) return;
    std::perror(what);
    std::exit(1);
}

class Stream {
  public:
    virtual ~Stream() = default;
    virtual void send(std::uint8_t* bytes, std::size_t size) = 0;
    virtual void receive(std::uint8_t* bytes, std::size_t size) = 0;
};

class Socket final : public Stream {
  public:
    explicit Socket(int fd) : fd_(fd) {}
    void send(std::uint8_t* bytes, std::size_t size) override {
        while (size > 0) {
            const ssize_t sent = ::send(fd_, bytes, size, MSG_NOSIGNAL);
            require(sent > 0, "send");
            bytes += sent;
            size -= static_cast<std::size_t>(sent);
        }
    }
    void receive(std::uint8_t* bytes, std::size_t size) override {
        while (size > 0) {
            const ssize_t got = ::recv(fd_, bytes, size, 0);
            require(got > 0, "recv");
            bytes += got;
            size -= static_cast<std::size_t>(got);
        }
    }

  private:
    int fd_;
};

class Memory final : public Stream {
  public:
    Memory(std::unique_ptr<SharedMemory> memory, int bell)
        : memory_(std::move(memory)), bell_(bell) {}
    void send(std::uint8_t* bytes, std::size_t size) override {
        iovec piece{bytes, size};
        for (;;) {
            const std::size_t taken = memory_->write(&piece, 1);
            piece = {static_cast<std::uint8_t*>(piece.iov_base) + taken, piece.iov_len - taken};
            if (piece.iov_len == 0) return;
            if (memory_->is_full()) sleep();
        }
    }
    void receive(std::uint8_t* bytes, std::size_t size) override {
        while (size > 0) {
            const SharedMemory::Bytes come = memory_->readable();
            const std::size_t used = std::min(size, come.size);
            std::copy(come.data, come.data + used, bytes);
            memory_->consume(used);
            bytes += used;
            size -= used;
            if (size > 0 && used == come.size && memory_->is_drained()) sleep();
        }
    }

  private:
    void sleep() {
        pollfd polled{bell_, POLLIN, 0};
        require(::poll(&polled, 1, -1) == 1, "poll");
        memory_->silence_bell();
    }

    std::unique_ptr<SharedMemory> memory_;
    int bell_;
};

void tcp_pair(int* ends) {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    require(::bind(listener, any, size) == 0 && ::listen(listener, 1) == 0, "listen");
    ::getsockname(listener, any, &size);
    ends[0] = ::socket(AF_INET, SOCK_STREAM, 0);
    require(::connect(ends[0], any, size) == 0, "connect");
    ends[1] = ::accept(listener, nullptr, nullptr);
    ::close(listener);
    const int on = 1;
    for (const int end : {ends[0], ends[1]}) {
        ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
}

void measure(const std::string& kind) {
    int ends[2];
    if (kind == "tcp") {
        tcp_pair(ends);
    } else {
        require(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    }
    for (const int end : ends) {
        ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes, sizeof(kSendBufferBytes));
    }
    std::unique_ptr<SharedMemory> memory;
    Descriptor handle;
    if (kind == "memory") {
        memory = SharedMemory::made(kSendBufferBytes, ends[0]);
        handle = memory->handle();
    }
    std::vector<std::uint8_t> bytes(kMessageBytes, 1);
    const pid_t other = ::fork();
    if (other == 0) {
        std::unique_ptr<Stream> stream = std::make_unique<Socket>(ends[1]);
        if (memory) {
            stream =
                std::make_unique<Memory>(SharedMemory::joined(std::move(handle), ends[1]), ends[1]);
        }
        for (std::size_t i = 0; i < kRoundTrips; ++i) {
            stream->receive(bytes.data(), kSmallBytes);
            stream->send(bytes.data(), kSmallBytes);
        }
        for (std::size_t i = 0; i < kMessages; ++i) stream->receive(bytes.data(), kMessageBytes);
        stream->send(bytes.data(), 1);
        ::_exit(0);
    }
    std::unique_ptr<Stream> stream = std::make_unique<Socket>(ends[0]);
    if (memory) stream = std::make_unique<Memory>(std::move(memory), ends[0]);
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto seconds = [](auto duration) { return std::chrono::duration<double>(duration); };
    const auto begin = now();
    for (std::size_t i = 0; i < kRoundTrips; ++i) {
        stream->send(bytes.data(), kSmallBytes);
        stream->receive(bytes.data(), kSmallBytes);
    }
    const auto middle = now();
    for (std::size_t i = 0; i < kMessages; ++i) stream->send(bytes.data(), kMessageBytes);
    stream->receive(bytes.data(), 1);
    const auto end = now();
    ::waitpid(other, nullptr, 0);
    for (const int fd : ends) ::close(fd);
    std::printf("%s %.3f %.2f\n", kind.c_str(),
                kMessages * kMessageBytes / seconds(end - middle).count() / 1e9,
                seconds(middle - begin).count() / kRoundTrips * 1e6);
    std::fflush(stdout);
}

}  // namespace

int main(int, char** argv) {
    const int repetitions = std::atoi(argv[1]);
    for (int i = 0; i < repetitions; ++i) {
        for (const char* kind : {"tcp", "unix", "memory"}) measure(kind);
    }
}
