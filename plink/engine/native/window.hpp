#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace plink::engine {

/// How quickly a worker's chunks became complete, kept from one collective to the next.
struct Pace {
    double bytes_per_s = 0.0;  ///< 0 where it is not known
    bool is_followed = true;   ///< else nothing is held back
};

/// How far ahead of the oldest chunk that is not complete a part may begin others.
///
/// Ranks that begin all at once fill every queue, and flows share links evenly, whatever each has
/// to send. Held to about what is completed in a moment, all ranks are about the same chunks, so
/// that each flow gets what the chunks need, and little waits in queues.
class Window {
  public:
    using Clock = std::chrono::steady_clock;

    /// With no chunks nothing is held back.
    Window() = default;
    /// `pace`: is followed and kept up to date; must outlive this. `low`: chunks before it are
    /// complete. `routes`: that chunks go along.
    Window(Pace& pace, std::uint32_t chunks, std::uint32_t low, double chunk_bytes,
           std::uint32_t routes);

    /// Chunks from this one on may not begin yet.
    std::uint32_t end() const { return end_; }
    /// All chunks before `low` are complete. Returns whether more may begin now; they may in steps,
    /// so that several go at once.
    bool advance(std::uint32_t low, Clock::time_point now);

  private:
    void measure(std::uint32_t low, Clock::time_point now);
    void fit();

    Pace* pace_ = nullptr;
    double chunk_bytes_ = 0.0;
    std::uint32_t chunks_ = 0;
    std::uint32_t least_ = 0;  ///< chunks, as are the following
    std::uint32_t size_ = 0;
    std::uint32_t end_ = std::numeric_limits<std::uint32_t>::max();
    bool is_measuring_ = false;
    std::uint32_t measured_from_ = 0;
    std::uint32_t measured_to_ = 0;
    Clock::time_point measured_since_;
};

}  // namespace plink::engine
