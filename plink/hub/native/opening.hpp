#pragma once

#include "outbox.hpp"

namespace plink::hub {

/// How a connection begins: by the hand-shake of TLS, where it is encrypted.
class Opening {
  public:
    explicit Opening(const transport::Stream& stream) : is_done_(stream.tls() == nullptr) {}

    bool is_done() const { return is_done_; }
    bool must_write() const { return must_write_; }  ///< before it can go on

    /// Goes on as far as it can, and says what it must wait for. Throws ConnectionLost.
    void go_on(const transport::Stream& stream, bool& is_readable, bool& is_writable);

  private:
    bool is_done_;
    bool must_write_ = false;
};

}  // namespace plink::hub
