#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame.hpp"
#include "lane_options.hpp"
#include "memory.hpp"
#include "scalars.hpp"
#include "steps.hpp"
#include "wire.hpp"

namespace plink::hub {

class Link;

/// What a lane calls out of its thread.
struct LaneCalls {
    std::function<void(Link&)> attend;  ///< a connection has something to send
    std::function<void()> filled;       ///< all chunks have their first values
    std::function<void(std::uint32_t worker, const std::string& why)> missed;  ///< it is needed
    std::function<void(std::uint32_t iteration)> copied;  ///< all chunks of its end are there
};

/// Copies of a lane's arrays at the end of an iteration, one chunk behind the other without gaps:
/// values, then as many states as the optimiser has.
struct LaneCopy {
    std::uint32_t iteration = 0;
    std::uint64_t steps = 0;
    std::vector<std::uint8_t> hypers;  ///< of the last step; empty before the first
    std::vector<std::vector<float>> arrays;
};

/// The chunks of a service that live on one core of one port, and what is done with them. One
/// thread at a time uses it, and it knows no other lane.
class Lane {
  public:
    Lane(LaneOptions options, const std::vector<ChunkPlace>& places, LaneCalls calls);

    const LaneOptions& options() const { return options_; }
    LaneFigures& figures() { return figures_; }

    // Who takes part.
    /// A worker's connection; it replaces one that is there.
    void join(Link& link);
    void leave(Link& link);
    Link* link_of(std::uint32_t worker) const;
    /// A worker is done. Whoever goes on without it is told so. An empty reason takes that back.
    void retire(std::uint32_t worker, const std::string& why);
    /// It contributes from an iteration on; false where that has begun, and nothing is changed.
    bool admit(std::uint32_t worker, std::uint32_t since);
    /// It does not from an iteration on. What it has pushed of the one under way, if it is that or
    /// later, is forgotten, and the others are asked to push again what was mixed with it; norms
    /// of that from before `revision` mean nothing then.
    void drop(std::uint32_t worker, std::uint32_t since, std::uint32_t revision);
    /// Nobody contributes to the iterations up to this one: they leave the values as they are.
    /// False where an earlier one is under way, which nobody can end.
    bool pass_over(std::uint32_t iteration);
    /// As at first: `workers` contribute.
    void gather();
    /// Whether all chunks have its contribution to an iteration, or are beyond it.
    bool has_all_of(std::uint32_t worker, std::uint32_t iteration) const;

    // Where each rack has a server: a chunk's root adds up the sums of all, and tells all the
    // total.
    void join_peer(Link& link);
    void check_peer(const Link& link, const Frame& frame) const;
    void hear_peer(Link& link, const Frame& frame, const std::uint8_t* payload);

    // What comes.
    /// Throws std::runtime_error where the header is none that an honest worker sends now.
    void check(const Link& link, const Frame& frame) const;
    // A whole frame, whose header was checked. Throw as `check`.
    void begin(Link& link, const Frame& frame, const std::uint8_t* payload);
    void push(Link& link, const Frame& frame, const std::uint8_t* payload);
    void pull(Link& link, const Frame& frame);
    void total(Link& link, const Frame& frame, const std::uint8_t* payload);

    /// Whether the norm is known and chunks are left to be stepped; nobody comes or goes then.
    bool is_committing() const { return is_committing_; }
    /// Steps about so many bytes of them; how many.
    std::size_t commit(std::size_t most_bytes);

    // What is kept.
    /// Copies at the end of an iteration; false where that is past.
    bool copy_at(std::uint32_t iteration);
    /// What there is now; false where that is not what an iteration has left in all chunks.
    bool copy_now(std::uint32_t iteration, LaneCopy& into) const;
    /// What was asked for, once it is there.
    LaneCopy take_copy();
    /// Goes on from a copy. Throws std::invalid_argument where it is of other chunks, or an
    /// iteration is under way.
    void load(const LaneCopy& copy);

  private:
    struct RackSum {
        Array<float> sum;
        std::uint32_t workers = 0;
    };
    struct RackHypers {
        std::uint32_t iteration = 0;
        std::uint32_t worker = 0;         ///< of that rack, who began it
        std::vector<std::uint8_t> bytes;  ///< empty where there are none
    };
    struct Chunk {
        ChunkPlace place;
        std::size_t offset;  ///< in the arrays
        std::size_t packed;  ///< the same without gaps
        std::uint32_t count = 0;
        std::uint32_t next = 0;       ///< whose contribution comes next, where the order counts
        std::uint32_t iteration = 0;  ///< of its values
        std::uint64_t steps = 0;      ///< where every push is stepped by itself
        bool has_values = false;
        bool is_full = false;
        double squares = 0.0;
        std::vector<Array<std::uint8_t>> early;  ///< by worker
        std::uint32_t totalled = 0;              ///< iteration of the last total of all racks
        std::vector<RackSum> racks;              ///< that have come to their root
    };
    struct Seat {
        Link* link = nullptr;
        bool contributes = false;
        std::uint32_t since = 0;
        std::optional<std::uint32_t> counts_in{};  ///< the last one, though it is gone
        std::string retirement;                    ///< why it is done; empty where it is not
    };
    struct Revision {
        std::uint32_t since, number;
    };
    struct Owed {
        std::uint32_t chunk, worker, iteration;
    };

    Chunk& chunk_of(std::uint32_t id);
    const Chunk* find(std::uint32_t id) const;
    std::size_t index_of(const Chunk& chunk) const;

    void resize(std::size_t workers);
    bool contributes(std::uint32_t worker, std::uint32_t iteration) const;
    std::uint32_t contributors(std::uint32_t iteration) const;
    std::uint32_t next_contributor(std::uint32_t worker) const;
    void miss_retired() const;
    void forget(std::uint32_t worker);
    void recount(Chunk& chunk);
    void empty(Chunk& chunk);
    void take_revisions();
    void take_back();
    bool has_mark(const Chunk& chunk, std::uint32_t worker) const;
    bool mark(Chunk& chunk, std::uint32_t worker);
    void clear_marks(const Chunk& chunk);

    bool begin_again(Link& link, const Frame& frame);
    void add(Chunk& chunk, const std::uint8_t* payload);
    void keep_early(Chunk& chunk, std::uint32_t worker, const std::uint8_t* payload);
    void add_early(Chunk& chunk);
    void fill(Chunk& chunk, const std::uint8_t* payload);
    void complete(Chunk& chunk);
    void conclude(Chunk& chunk, std::uint32_t workers);
    void complete_rack(Chunk& chunk);
    void add_racks(Chunk& chunk);
    void send_sum(const Chunk& chunk);
    void send_initial(Link& link, const Chunk& chunk);
    void begin_rack();
    void send_hypers(Link& link);
    void compare(std::uint32_t rack);
    bool is_root(std::uint32_t rack) const;
    std::uint32_t root_of(const Chunk& chunk) const { return chunk.place.id % options_.racks; }
    void step(Chunk& chunk, float* sums, float divisor, float scale, const Scalars& scalars);
    void finish_chunk(Chunk& chunk);
    void skip();
    bool is_pulled(const Link& link, const Chunk& chunk) const;
    bool waits_for_values(const Link* link) const;
    void send_partials();
    void send_partial(Link& link);
    void send_value(Link& link, const Chunk& chunk, std::uint32_t iteration);

    void step_alone(Link& link, Chunk& chunk, const Frame& frame, const std::uint8_t* payload);
    void reply(Chunk& chunk);
    void copy(const Chunk& chunk, std::uint64_t steps);

    LaneOptions options_;
    LaneCalls calls_;
    std::vector<Seat> seats_;  ///< by worker
    std::vector<Chunk> chunks_;
    std::size_t words_ = 0;             ///< of a chunk's marks
    std::vector<std::uint64_t> marks_;  ///< whose contributions a chunk has
    Array<float> sums_, values_, first_, second_;
    Array<float> totals_;                  ///< of all racks, of the chunks whose root is here
    std::vector<Link*> peers_;             ///< by rack
    std::vector<RackHypers> rack_hypers_;  ///< by rack, the last that it has sent
    bool has_disagreed_ = false;           ///< the racks have: nothing is stepped any more
    std::size_t room_ = 0;                 ///< of an array
    std::size_t items_ = 0;                ///< of all chunks, without gaps
    LaneFigures figures_;

    bool is_begun_ = false;            ///< an iteration is under way
    std::uint32_t iteration_ = 0;      ///< it, or the last one
    std::uint32_t expected_ = 0;       ///< contributions of each chunk
    std::uint32_t workers_ = 0;        ///< that contributed, in all racks
    std::uint32_t revision_ = 0;       ///< of the set of workers
    std::vector<Revision> revisions_;  ///< of sets that later iterations have
    std::uint64_t steps_ = 0;
    std::size_t remaining_ = 0;  ///< chunks that are not done, or without values
    std::size_t full_ = 0;       ///< chunks that have all contributions and wait for the others
    bool has_totals_ = true;
    bool is_committing_ = false;
    std::size_t uncommitted_ = 0;  ///< the first chunk that is
    float scale_ = 1.0F;           ///< of the gradients
    std::vector<std::uint8_t> hyper_bytes_;
    std::uint32_t hyper_worker_ = 0;
    std::vector<Scalars> scalars_;

    std::vector<std::uint32_t> clocks_;  ///< by chunk and worker, where they do not wait
    std::vector<Owed> owed_;

    bool is_copying_ = false;
    std::size_t uncopied_ = 0;
    LaneCopy copy_;
};

}  // namespace plink::hub
