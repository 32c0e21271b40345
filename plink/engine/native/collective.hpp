#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "frame.hpp"
#include "share.hpp"

namespace plink::engine {

class Collective;
struct Pace;
class Part;

/// Who can carry a collective on in the thread that waits for it.
class Carrier {
  public:
    /// Returns when it is over, at `until`, at a signal, or at once where another thread carries
    /// it.
    /// An exception would leave what it drives to nobody, so that it ends the process, as one on a
    /// worker's thread does.
    virtual void carry(Collective& collective,
                       std::chrono::steady_clock::time_point until) noexcept = 0;

  protected:
    ~Carrier() = default;
};

/// One collective of this rank, from the call to its end.
class Collective {
  public:
    using Clock = std::chrono::steady_clock;
    enum class Status { kPending, kDone, kFailed };

    /// When what happened; none where it has not yet.
    struct Times {
        Clock::time_point posted;
        std::optional<Clock::time_point> begun;
        std::optional<Clock::time_point> ended;
    };

    /// `signature`: the same on all ranks that call the same. `priority`: higher ones go first.
    Collective(std::uint64_t number, std::uint16_t signature, int priority);
    virtual ~Collective() = default;

    const std::uint64_t number;
    const std::uint16_t signature;
    const int priority;
    const Clock::time_point posted_at = Clock::now();
    std::weak_ptr<Carrier> carrier;  ///< of a small one; set before it is posted

    virtual const Share& share(int worker) const = 0;
    /// Of a small one, the worker that carries all of it.
    virtual std::optional<std::size_t> sole_worker() const = 0;
    /// Of a worker's chunks together, where workers have shares; 0 where one carries everything.
    virtual std::size_t worker_bytes(int /*worker*/) const { return 0; }
    virtual std::unique_ptr<Part> part(const std::shared_ptr<Collective>& self, int worker,
                                       bool in_order, Pace& pace) = 0;
    /// Brings what needs no other rank to its place.
    virtual void copy_own() = 0;

    /// How many workers have a part in it; called once, before any of them learns of it.
    void expect_parts(int parts);
    /// A worker takes it up.
    void begin_part();
    /// A worker will not touch it again. The last one settles the status.
    void end_part(bool is_whole);
    /// No worker will ever touch it.
    void fail();
    /// Waits for at most `seconds`.
    Status wait(double seconds);
    Status status() const;
    Times times() const;

  private:
    mutable std::mutex mutex_;
    std::condition_variable ended_;
    Status status_ = Status::kPending;
    int parts_left_ = 0;
    bool is_whole_ = true;
    std::optional<Clock::time_point> begun_at_;
    std::optional<Clock::time_point> ended_at_;
};

/// 16 bits of a hash.
std::uint16_t folded(std::uint64_t hash);

}  // namespace plink::engine
