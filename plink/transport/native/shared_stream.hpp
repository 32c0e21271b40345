#pragma once

#include <cerrno>
#include <mutex>
#include <string>
#include <utility>

#include "stream.hpp"

namespace plink::transport {

/// A stream on which any thread may send. What the connection does not take at once waits for
/// `flush`. One thread receives.
class SharedStream {
  public:
    /// What a call of `receive` found.
    struct Received {
        ssize_t bytes;        ///< as of recv(2)
        bool has_more;        ///< which wakes nobody: TLS has it
        bool is_broken;       ///< where `bytes` is negative
        std::string failure;  ///< why
    };

    /// Before anybody else uses it.
    void open(Stream stream) { stream_ = std::move(stream); }
    void reset() {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_shut_ = true;
        stream_.reset();
    }
    int get() const { return stream_.get(); }
    bool is_encrypted() const { return stream_.tls() != nullptr; }

    Received receive(char* bytes, std::size_t size) {
        const std::lock_guard<std::mutex> lock(mutex_);
        const ssize_t got = stream_.receive(bytes, size);
        if (got >= 0) return {got, is_encrypted() && !stream_.tls()->is_drained(), false, {}};
        const int error = errno;
        if (error == EAGAIN || error == EINTR) return {got, false, false, {}};
        return {got, false, true, stream_.failure(error)};
    }
    /// After all that was sent before. Returns whether nothing waits.
    bool send(const std::string& bytes) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (is_shut_) return true;
        unsent_ += bytes;
        return flush_locked();
    }
    void flush() {
        const std::lock_guard<std::mutex> lock(mutex_);
        flush_locked();
    }
    bool has_unsent() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return !unsent_.empty();
    }
    /// Nothing more is sent.
    void shut() {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_shut_ = true;
        unsent_.clear();
    }

  private:
    bool flush_locked() {
        if (unsent_.empty()) return true;
        const ssize_t sent = stream_.send(unsent_.data(), unsent_.size());
        // What went wrong shows when it is next read from.
        if (sent > 0) unsent_.erase(0, static_cast<std::size_t>(sent));
        return unsent_.empty();
    }

    std::mutex mutex_;
    Stream stream_;
    std::string unsent_;
    bool is_shut_ = false;
};

}  // namespace plink::transport
