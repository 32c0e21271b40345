#pragma once

#include <vector>

#include "collective.hpp"
#include "schedule.hpp"

namespace plink::engine {

/// How far a chunk has come on this rank. Only the worker that owns the chunk touches it.
struct ChunkState {
    std::uint32_t children_left = 0;  ///< whose contribution is not added yet
    bool is_begun = false;            ///< this rank's own contribution is where others are added
    bool is_sent_up = false;          ///< all of it is with the kernel
    bool is_final = false;
};

/// A collective along trees: the user's buffers and what is known about them.
class TreeCollective final : public Collective {
  public:
    /// `input`: what this rank contributes. `output`: where its result goes. They are one buffer
    /// but for a reduce-scatter and an all-gather; these have one segment in one of the two.
    TreeCollective(std::uint64_t number, std::shared_ptr<const Schedule> schedule,
                   const void* input, void* output, Op op, int ranks, int priority,
                   std::uint64_t layout);

    const std::shared_ptr<const Schedule> schedule;
    const Op op;
    const int ranks;
    std::vector<ChunkState> states;  ///< by chunk

    const Share& share(int worker) const override { return schedule->shares[worker]; }
    std::optional<std::size_t> sole_worker() const override { return schedule->sole_worker; }
    std::size_t worker_bytes(int worker) const override { return schedule->worker_bytes[worker]; }
    std::unique_ptr<Part> part(const std::shared_ptr<Collective>& self, int worker, bool in_order,
                               Pace& pace) override;
    void copy_own() override;

    /// Whether this rank is the root of the chunk's route.
    bool is_root(std::uint32_t chunk) const;
    /// This rank's contribution to a chunk.
    const std::uint8_t* own(std::uint32_t chunk) const;
    /// Where the user wants the chunk's result; null where this rank has no use for it.
    std::uint8_t* result(std::uint32_t chunk) const;

  private:
    std::size_t own_offset_bytes(std::uint32_t chunk) const;

    const std::uint8_t* const input_;
    std::uint8_t* const output_;
};

}  // namespace plink::engine
