#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "socket.hpp"

namespace plink::hub {

/// What loops tell whoever decides about services.
struct Event {
    enum class What : std::uint8_t {
        kLost,      ///< a worker's connection ended
        kFault,     ///< a worker sent what no honest one sends
        kFilled,    ///< all chunks of a lane have their first values
        kMissed,    ///< a worker that is done is needed
        kPeerLost,  ///< the connection to a rack's server ended, or it said why
        kCopied,    ///< all chunks of a lane are, as of the end of an iteration
    };
    What what;
    std::uint32_t tenant;
    std::uint32_t lane;
    std::uint32_t worker;
    std::uint16_t incarnation;
    std::string text;
    std::uint32_t iteration = 0;
};

/// A queue out of all loops.
class Events {
  public:
    /// Readable while there are events.
    int fd() const { return alarm_.fd(); }
    void add(Event event);
    std::vector<Event> take();

  private:
    std::mutex mutex_;
    std::vector<Event> events_;
    transport::Alarm alarm_;
};

}  // namespace plink::hub
