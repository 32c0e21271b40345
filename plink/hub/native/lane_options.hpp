#pragma once

#include <cstdint>

#include "steps.hpp"
#include "wire.hpp"

namespace plink::hub {

enum class Mode : std::uint8_t { kSync, kAsync, kSsp };

struct LaneOptions {
    std::uint32_t tenant = 0;
    std::uint32_t lane = 0;
    std::uint32_t workers = 1;  ///< that begin together
    std::uint32_t groups = 1;
    Optimizer optimizer = Optimizer::kSgd;
    Mode mode = Mode::kSync;
    std::uint32_t staleness = 0;
    bool is_by_step = false;  ///< all chunks are aggregated before one is stepped
    bool is_in_order = false;
    bool skips_nonfinite = false;
    double clip = 0.0;  ///< 0 for none
    Wire wire = Wire::kFloat32;
    std::uint32_t racks = 1;  ///< each with a server of its own
    std::uint32_t rack = 0;   ///< this one
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
    std::uint64_t replays = 0;           ///< pushes that had come before
    std::uint64_t early_bytes = 0;       ///< kept now for the sake of the order
    std::uint64_t most_early_bytes = 0;  ///< at most so far
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t queued_bytes = 0;  ///< that wait to be sent
};

/// How many arrays besides the values an optimiser keeps.
constexpr std::size_t states_of(Optimizer optimizer) {
    if (optimizer == Optimizer::kMomentum) return 1;
    return optimizer == Optimizer::kAdam || optimizer == Optimizer::kAdamW ? 2 : 0;
}

}  // namespace plink::hub
