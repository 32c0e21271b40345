#pragma once

#include <chrono>

#include "socket.hpp"

namespace plink::transport {

/// Lets one thread sleep until it is called, at once or in a while.
class WakeUp {
  public:
    WakeUp();
    void call() const { alarm_.ring(); }
    /// Not before `delay`, unless it is called or the call is cancelled. Replaces an earlier such
    /// call.
    void call_in(std::chrono::nanoseconds delay) const;
    void cancel() const { call_in(std::chrono::nanoseconds(0)); }
    /// Returns after a call, and now and then without one.
    void sleep() const;

  private:
    Alarm alarm_;
    Descriptor timer_;
};

}  // namespace plink::transport
