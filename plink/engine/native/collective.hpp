#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "frame.hpp"
#include "schedule.hpp"
#include "types.hpp"

namespace plink::engine {

/// How far a chunk has come on this rank. Only the worker that owns the chunk touches it.
struct ChunkState {
    std::uint32_t children_left = 0;  ///< whose contribution is not added yet
    bool is_sent_up = false;          ///< all of it is with the kernel
    bool is_final = false;
};

class Collective;

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

/// One all-reduce of this rank: the user's buffer and what is known about it.
class Collective {
  public:
    using Clock = std::chrono::steady_clock;
    enum class Status { kPending, kDone, kFailed };

    Collective(std::uint64_t number, std::shared_ptr<const Schedule> schedule, void* data, Op op,
               int ranks);

    const std::uint64_t number;
    const std::shared_ptr<const Schedule> schedule;
    std::uint8_t* const data;
    const Op op;
    const int ranks;
    const std::uint16_t signature;
    const Clock::time_point posted_at = Clock::now();
    std::weak_ptr<Carrier> carrier;  ///< of a small one; set before it is posted
    std::vector<ChunkState> states;  ///< by chunk

    std::uint8_t* at(std::uint32_t chunk) const {
        return data + schedule->deal.offset_bytes(chunk);
    }

    /// How many workers have a part in it; called once, before any of them learns of it.
    void expect_parts(int parts);
    /// A worker will not touch it again. The last one settles the status.
    void end_part(bool is_whole);
    /// Waits for at most `seconds`.
    Status wait(double seconds);
    Status status();

  private:
    std::mutex mutex_;
    std::condition_variable ended_;
    Status status_ = Status::kPending;
    int parts_left_ = 0;
    bool is_whole_ = true;
};

}  // namespace plink::engine
