#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace plink::engine {

/// What the kernel says of a connection that bbr controls, at a moment.
struct Delivery {
    std::uint64_t busy_us;   ///< in which something was to be sent or acknowledged, so far
    std::uint32_t segments;  ///< sent so far, again or not; goes round
    std::uint32_t again;     ///< sent again so far; goes round
    std::uint32_t trip_us;   ///< a round trip of late
    std::uint32_t least_trip_us;
    std::uint64_t rate;  ///< bytes a second that bbr takes the path to carry
};

/// A bound for the rate of a connection over a long way, by what overflows.
///
/// bbr takes the greatest rate at which it has seen acknowledgements come for the path's. Where
/// they wait behind data they come in bursts, so that it sends more than the path carries, and
/// neither loss nor full queues keep it from that (Hock 2017, "Experimental evaluation of BBR
/// congestion control"). A tenth is lost then, and everything waits for what is sent again. So:
/// where a queue is long and overflows, no more than the part that was not lost; after some seconds
/// in which nothing overflows a little more at a time.
class Governor {
  public:
    /// To be told again and again while there is something to send. Returns the bound, in bytes a
    /// second, where it is another from now on.
    std::optional<std::uint64_t> follow(const Delivery& now);
    /// The same for a socket that is about to send, whose rate it bounds; not more often than is of
    /// use. Does nothing where it has no bbr.
    void look_at(int fd);

  private:
    std::optional<double> decided(double lost, double rate);

    std::chrono::steady_clock::time_point looked_at_;
    std::optional<Delivery> last_;
    std::uint64_t span_us_ = 0;  ///< busy, since the last decision
    std::uint64_t segments_ = 0;
    std::uint64_t again_ = 0;
    bool has_queue_ = false;
    bool is_settling_ = false;  ///< what is lost was sent before
    int held_ = 0;              ///< for so many spans
    double bound_ = 0.0;        ///< 0 for none
    double harmless_ = 0.0;     ///< the latest bound at which nothing overflowed; 0 for none
};

}  // namespace plink::engine
