#pragma once

#include <sys/uio.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "socket.hpp"
#include "tls.hpp"

namespace plink::transport {

/// A connected, non-blocking socket whose bytes go as they are, or by TLS.
class Stream {
  public:
    Stream() = default;
    Stream(Descriptor socket) : socket_(std::move(socket)) {}

    int get() const { return socket_.get(); }
    bool is_open() const { return socket_.is_open(); }
    void reset() {
        tls_.reset();
        socket_.reset();
    }

    /// From here on all goes by TLS, the hand-shake first.
    void encrypt(std::shared_ptr<const TlsContext> context, std::optional<int> called_rank) {
        tls_ = std::make_unique<Tls>(std::move(context), get(), called_rank);
    }
    Tls* tls() const { return tls_.get(); }

    /// As readv(2), without ever waiting.
    ssize_t receive(const iovec* pieces, std::size_t count) {
        if (tls_) return tls_->receive(pieces, count);
        if (count == 1) return ::recv(get(), pieces->iov_base, pieces->iov_len, MSG_DONTWAIT);
        return ::readv(get(), pieces, static_cast<int>(count));
    }
    ssize_t receive(void* bytes, std::size_t size) {
        const iovec piece{bytes, size};
        return receive(&piece, 1);
    }
    /// Whether that which got `got` of `asked` bytes took all there was.
    bool is_drained(std::size_t got, std::size_t asked) const {
        return tls_ ? tls_->is_drained() : got < asked;
    }

    /// As writev(2), without ever waiting. What it does not count must be given again.
    ssize_t send(const iovec* pieces, std::size_t count) {
        if (tls_) return tls_->send(pieces, count);
        msghdr message{};
        message.msg_iov = const_cast<iovec*>(pieces);
        message.msg_iovlen = count;
        return ::sendmsg(get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    ssize_t send(const void* bytes, std::size_t size) {
        const iovec piece{const_cast<void*>(bytes), size};
        return send(&piece, 1);
    }
    /// Whether that which took `taken` of `asked` bytes left no room for more.
    bool is_full(std::size_t taken, std::size_t asked) const {
        return tls_ ? tls_->is_full() : taken < asked;
    }

    /// What went wrong, where the last call set `error` (of errno).
    std::string failure(int error) const {
        return tls_ && !tls_->failure().empty() ? tls_->failure() : text_of(error);
    }

  private:
    Descriptor socket_;
    std::unique_ptr<Tls> tls_;
};

}  // namespace plink::transport
