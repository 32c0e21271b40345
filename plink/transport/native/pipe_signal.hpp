#pragma once

#include <pthread.h>
#include <signal.h>

#include <ctime>

namespace plink::transport {

/// While it lives, writing to a socket whose peer has gone raises no signal in this thread: OpenSSL
/// writes without MSG_NOSIGNAL.
class NoPipeSignal {
  public:
    NoPipeSignal() {
        sigset_t pending;
        sigpending(&pending);
        was_pending_ = sigismember(&pending, SIGPIPE) == 1;
        sigemptyset(&pipe_);
        sigaddset(&pipe_, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
    }
    NoPipeSignal(const NoPipeSignal&) = delete;
    ~NoPipeSignal() {
        const timespec at_once{};
        if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
        pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }

  private:
    sigset_t pipe_;
    sigset_t before_;
    bool was_pending_;
};

}  // namespace plink::transport
