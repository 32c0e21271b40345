#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frame.hpp"
#include "memory.hpp"
#include "scalars.hpp"
#include "steps.hpp"
#include "wire.hpp"

namespace plink::hub {

class Link;

enum class Mode : std::uint8_t { kSync, kAsync, kSsp };

struct LaneOptions {
    std::uint32_t tenant = 0;
    std::uint32_t lane = 0;
    std::uint32_t workers = 1;
    std::uint32_t groups = 1;
    Optimizer optimizer = Optimizer::kSgd;
    Mode mode = Mode::kSync;
    std::uint32_t staleness = 0;
    bool is_by_step = false;  ///< all chunks are aggregated before one is stepped
    bool is_in_order = false;
    bool skips_nonfinite = false;
    double clip = 0.0;  ///< 0 for none
    Wire wire = Wire::kFloat32;
};

/// What every chunk is, in ascending order of its number.
struct ChunkPlace {
    std::uint32_t id;
    std::uint32_t items;
    std::uint32_t group;
};

struct LaneFigures {
    std::uint32_t iteration = 0;  ///< begun last
    std::uint64_t steps = 0;
    std::uint64_t skipped = 0;
    std::uint64_t replays = 0;      ///< pushes that had come before
    std::uint64_t early_bytes = 0;  ///< kept at most for the sake of the order
};

/// What a lane calls out of its thread.
struct LaneCalls {
    std::function<void(Link&)> attend;  ///< a connection has something to send
    std::function<void()> filled;       ///< all chunks have their first values
    std::function<void(std::uint32_t worker, const std::string& why)> missed;  ///< it is needed
};

/// The chunks of a service that live on one core of one port, and what is done with them. One
/// thread at a time uses it, and it knows no other lane.
class Lane {
  public:
    Lane(LaneOptions options, const std::vector<ChunkPlace>& places, LaneCalls calls);

    const LaneOptions& options() const { return options_; }
    const LaneFigures& figures() const { return figures_; }

    /// A worker's connection; it replaces one that is there.
    void join(Link& link);
    void leave(Link& link);
    /// A worker is done. Whoever goes on without it is told so.
    void retire(std::uint32_t worker, const std::string& why);
    Link* link_of(std::uint32_t worker) const { return links_[worker]; }

    /// Throws std::runtime_error where the header is none that an honest worker sends now.
    void check(const Link& link, const Frame& frame) const;
    // A whole frame, whose header was checked. Throw as `check`.
    void begin(Link& link, const Frame& frame, const std::uint8_t* payload);
    void push(Link& link, const Frame& frame, const std::uint8_t* payload);
    void pull(Link& link, const Frame& frame);
    void total(Link& link, const Frame& frame, const std::uint8_t* payload);

  private:
    struct Chunk {
        ChunkPlace place;
        std::size_t offset;  ///< in the arrays
        std::uint32_t count = 0;
        std::uint32_t next = 0;  ///< whose contribution comes next, where the order counts
        std::uint32_t iteration = 0;  ///< of its values
        std::uint64_t steps = 0;
        bool has_values = false;
        double squares = 0.0;
        std::vector<Array<std::uint8_t>> early;  ///< by worker
    };

    Chunk& chunk_of(std::uint32_t id);
    const Chunk* find(std::uint32_t id) const;
    void miss_retired() const;
    bool mark(Chunk& chunk, std::uint32_t worker);
    void fill(Chunk& chunk, const std::uint8_t* payload);
    void add_in_order(Chunk& chunk, std::uint32_t worker, const std::uint8_t* payload);
    void add(Chunk& chunk, const std::uint8_t* payload);
    void complete(Chunk& chunk);
    void step(Chunk& chunk, float* sums, float divisor, float scale, const Scalars& scalars);
    void step_alone(Link& link, Chunk& chunk, const Frame& frame, const std::uint8_t* payload);
    void reply(Chunk& chunk);
    void skip();
    void finish_chunk(Chunk& chunk);
    void send_partials();
    void send_value(Link& link, const Chunk& chunk, std::uint32_t iteration);

    LaneOptions options_;
    LaneCalls calls_;
    std::vector<Link*> links_;             ///< by worker
    std::vector<std::string> retirements_;  ///< by worker, why it is done; empty where it is not
    std::vector<Chunk> chunks_;
    std::size_t words_;                       ///< of a chunk's marks
    std::vector<std::uint64_t> marks_;        ///< whose contributions a chunk has
    Array<float> sums_, values_, first_, second_;
    LaneFigures figures_;

    bool is_begun_ = false;        ///< an iteration is under way
    std::uint32_t iteration_ = 0;  ///< it, or the last one
    std::uint64_t steps_ = 0;
    std::size_t remaining_ = 0;  ///< chunks without all contributions, or without values
    std::size_t filled_chunks_ = 0;
    bool has_totals_ = true;
    std::vector<std::uint8_t> hyper_bytes_;
    std::uint32_t hyper_worker_ = 0;
    std::vector<Hyper> hypers_;
    std::vector<Scalars> scalars_;
    std::vector<std::uint32_t> clocks_;  ///< by chunk and worker, where staleness counts
    struct Owed {
        std::uint32_t chunk, worker, iteration;
    };
    std::vector<Owed> owed_;
};

}  // namespace plink::hub
